/**
 * `hermes hooks accept` and `hermes hooks revoke`: the consent to run a shell hook configured in config.yaml.
 */
import { callRoute } from '../api/client.ts'
import { reloadHooks } from '../api/routes/extensions.ts'
import { hasConsent, readConsents, writeConsents } from '../hooks/consent.ts'
import { programFiles, programHashOf } from '../hooks/program-files.ts'
import { HermesError } from '../lib/errors.ts'
import type { CliContext } from './kit/context.ts'
import { findHook, type KnownHook, loadKnownHooks } from './shared/known-hooks.ts'

export async function hooksAccept(context: CliContext, name: string): Promise<void> {
  const { event, command } = await updateConsents(context, name, (all, consent) => {
    const program = programHashOf(programFiles(consent.command, context.home.root))
    const others = all.filter((other) => !hasConsent(consent, [other]))
    return [...others, program === '' ? consent : { ...consent, program }]
  })
  context.output.write(`${event} may run: ${command}\n`)
}

export async function hooksRevoke(context: CliContext, name: string): Promise<void> {
  const { event, command } = await updateConsents(context, name, (all, consent) =>
    all.filter((other) => !hasConsent(consent, [other])),
  )
  context.output.write(`${event} no longer runs: ${command}\n`)
}

type Consents = ReturnType<typeof readConsents>

async function updateConsents(
  context: CliContext,
  name: string,
  update: (all: Consents, consent: Consents[number]) => Consents,
): Promise<Consents[number]> {
  const { daemon, hooks, createRegistry } = await loadKnownHooks(context)
  const registry = createRegistry()
  // The daemon redacts secrets in its responses, also in commands, so the local registry is preferred.
  const local = registry.list().find((hook) => hook.name === name)
  await registry.stop(0)
  const consent = toConsent(local ?? findHook(name, hooks))
  const { root } = context.home
  writeConsents(root, update(readConsents(root), consent))
  if (daemon !== undefined) await callRoute(daemon, reloadHooks, {})
  return consent
}

interface HookIdentity extends Pick<KnownHook, 'name' | 'kind' | 'description'> {
  readonly events: readonly string[]
}

function toConsent({ name, kind, events: [event = ''], description: command }: HookIdentity): Consents[number] {
  if (kind === 'command') return { event, command }
  throw new HermesError('cli/usage', `${name} needs no consent: only shell hooks of config.yaml do.`)
}
