/**
 * `hermes hooks accept` and `hermes hooks revoke`: whether a program that config.yaml names may run.
 */
import { isAllowed, readConsents, writeConsents } from '../hooks/consent.ts'
import { HermesError } from '../lib/errors.ts'
import type { CliContext } from './context.ts'
import { hookCalled, type KnownHook, knownHooks } from './hooks-known.ts'

export async function hooksAccept(context: CliContext, name: string): Promise<void> {
  const { event, command } = await change(context, name, (all, consent) =>
    isAllowed(consent, all) ? [...all] : [...all, consent],
  )
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
  const { daemon, hooks } = await knownHooks(context)
  const consent = consentOf(hookCalled(name, hooks))
  const { root } = context.home
  writeConsents(root, next(readConsents(root), consent))
  await daemon?.post('/api/hooks/reload', {})
  return consent
}

function consentOf({ name, kind, events: [event = ''], description: command }: KnownHook): Consents[number] {
  if (kind === 'command') return { event, command }
  throw new HermesError('cli/usage', `${name} needs no acceptance: that is for programs that config.yaml names.`)
}
