/**
 * `hermes hooks accept` and `hermes hooks revoke`: whether a program that config.yaml names may run.
 */
import { isAllowed, readConsents, writeConsents } from '../hooks/consent.ts'
import { fingerprintOf, programFiles } from '../hooks/program-file.ts'
import { HermesError } from '../lib/errors.ts'
import type { CliContext } from './context.ts'
import { hookCalled, type KnownHook, knownHooks } from './hooks-known.ts'

export async function hooksAccept(context: CliContext, name: string): Promise<void> {
  const { event, command } = await change(context, name, (all, consent) => {
    const program = fingerprintOf(programFiles(consent.command, context.home.root))
    const others = all.filter((one) => !isAllowed(consent, [one]))
    return [...others, program === '' ? consent : { ...consent, program }]
  })
  context.output.write(`${event} may run: ${command}\n`)
}

export async function hooksRevoke(context: CliContext, name: string): Promise<void> {
  const { event, command } = await change(context, name, (all, consent) =>
    all.filter((one) => !isAllowed(consent, [one])),
  )
  context.output.write(`${event} no longer runs: ${command}\n`)
}

type Consents = ReturnType<typeof readConsents>

async function change(
  context: CliContext,
  name: string,
  next: (all: Consents, consent: Consents[number]) => Consents,
): Promise<Consents[number]> {
  const { daemon, hooks, own } = await knownHooks(context)
  const registry = own()
  // The daemon takes secrets out of what it tells, also out of commands.
  const local = registry.list().find((hook) => hook.name === name)
  await registry.stop(0)
  const consent = consentOf(local ?? hookCalled(name, hooks))
  const { root } = context.home
  writeConsents(root, next(readConsents(root), consent))
  await daemon?.post('/api/hooks/reload', {})
  return consent
}

interface Named extends Pick<KnownHook, 'name' | 'kind' | 'description'> {
  readonly events: readonly string[]
}

function consentOf({ name, kind, events: [event = ''], description: command }: Named): Consents[number] {
  if (kind === 'command') return { event, command }
  throw new HermesError('cli/usage', `${name} needs no acceptance: that is for programs that config.yaml names.`)
}
