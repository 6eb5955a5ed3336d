/**
 * Checks the hooks: invalid ones, disabled ones, and whether Python is available for those that need it.
 */
import { spawnSync } from 'node:child_process'
import { callRoute } from '../../api/client.ts'
import { listHooks } from '../../api/routes/extensions.ts'
import { describedCommands } from '../../app/built-in-commands.ts'
import { eventNames, hookDirectories } from '../../app/compose-hooks.ts'
import { createCommandRegistry } from '../../commands/registry.ts'
import { discoverHooks } from '../../hooks/discovery.ts'
import { createEventValidator } from '../../hooks/event-names.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Daemon } from '../kit/daemon.ts'
import { loadKnownHooks } from '../shared/known-hooks.ts'
import { type Check, type CheckResult, note, ofAnotherVersion, ok, problem } from './check-result.ts'

export const checkHooks: Check = async ({ context, settings: { config }, daemon }) => {
  const { home } = context
  const commands = createCommandRegistry(describedCommands())
  const validateEvent = createEventValidator(eventNames(commands))
  const canonical = (event: string) => {
    const [, name] = event.split('command:')
    const known = name === undefined ? undefined : commands.resolve(name)?.name
    return known === undefined ? event : `command:${known}`
  }
  const { hooks, invalid, warnings } = discoverHooks({
    roots: hookDirectories(home),
    eventIssue: (event) => validateEvent(canonical(event)),
  })
  const findings: CheckResult[] = [
    ...invalid.map(({ reason }) => problem('Hooks', reason, 'Fix it or remove the directory.')),
    ...warnings.map((warning) => note('Hooks', warning)),
  ]
  if (hooks.some(({ language }) => language === 'python')) {
    findings.push(...checkPython(config.current().hooks.python, config.environment().values['PATH']))
  }
  if (daemon !== undefined) findings.push(...(await resultsOfDaemon(daemon).catch(ofAnotherVersion)))
  else findings.push(...(await loadKnownHooks(context)).hooks.flatMap(consentNote))
  if (findings.length > 0) return findings
  const homeHooks = hooks.filter(({ origin }) => origin === 'home')
  return homeHooks.length === 0 ? [] : [ok('Hooks', homeHooks.map(({ id }) => id).join(', '))]
}

function checkPython(command: string, path = ''): CheckResult[] {
  const code = 'import sys; sys.exit(0 if sys.version_info >= (3, 9) else 9)'
  const { status, error } = spawnSync(command, ['-c', code], { env: { PATH: path }, timeout: 10_000, stdio: 'ignore' })
  if (status === 0) return []
  const what =
    status === 9 ? 'it is older than 3.9' : error === undefined ? `it exited with ${status}` : messageOf(error)
  const advice = 'Install Python 3.9 or newer, or set its path in `hooks.python`.'
  return [problem('Hooks', `hooks in Python cannot run: ${command}: ${what}`, advice)]
}

async function resultsOfDaemon(daemon: Daemon): Promise<CheckResult[]> {
  const { hooks } = await callRoute(daemon, listHooks, {})
  return hooks.flatMap(({ name, state, reason, problem: newest }) => {
    if (state === 'not-accepted') return consentNote({ name, state })
    if (state === 'tripped') {
      return [
        problem(
          'Hooks',
          `${name} is disabled after repeated failures: ${reason}`,
          `Fix it, or run hermes hooks resume ${name}.`,
        ),
      ]
    }
    if (state === 'failing') return [problem('Hooks', `${name}: ${reason}`, 'Fix the program.')]
    if (state === 'not-loaded') return [problem('Hooks', `${name} cannot be loaded: ${reason}`, 'Fix its files.')]
    if (newest !== '') return [problem('Hooks', `${name} still runs its previous version: ${newest}`, 'Fix its files.')]
    return state === 'paused' ? [note('Hooks', `${name} is paused`, `hermes hooks resume ${name} resumes it.`)] : []
  })
}

/** A program of the configuration runs only after its owner has accepted it. */
function consentNote({ name, state }: { readonly name: string; readonly state: string }): CheckResult[] {
  if (state !== 'not-accepted') return []
  return [note('Hooks', `${name} does not run without consent`, `hermes hooks accept ${name} gives it.`)]
}
