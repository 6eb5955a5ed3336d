/**
 * The hooks of this home: from the running daemon, or from the directories when none is running.
 */
import type { z } from 'zod'
import { callRoute } from '../../api/client.ts'
import { listHooks } from '../../api/routes/extensions.ts'
import { hookShape } from '../../api/shapes/extensions.ts'
import { describedCommands } from '../../app/built-in-commands.ts'
import { composeHooks } from '../../app/compose-hooks.ts'
import { createCommandRegistry } from '../../commands/registry.ts'
import { HermesError } from '../../lib/errors.ts'
import { silentLog } from '../../lib/log.ts'
import { createRedactor, type Redactor, redactTexts } from '../../lib/redact.ts'
import type { CliContext } from '../kit/context.ts'
import { findRunningDaemon, warnVersionMismatch } from '../kit/daemon.ts'
import { readSettings } from '../kit/settings.ts'

export type KnownHook = z.output<typeof hookShape>

export type KnownHooks = Awaited<ReturnType<typeof loadKnownHooks>>

/** Throws what `findRunningDaemon` throws, and `home/unusable`. */
export async function loadKnownHooks(context: CliContext) {
  const { home } = context
  const settings = await readSettings(context)
  /** Removes the secrets of this home. */
  const redact = createRedactor({ secrets: settings.secrets.all })
  /** `undefined` when no daemon is running. */
  const daemon = await findRunningDaemon({ home, token: settings.token })
  /** A registry with the hooks of this home, which the caller must stop. Its hooks cannot send messages. */
  const createRegistry = (log = silentLog) => {
    const context = { home, config: settings.config, clock: Date.now, log }
    const registry = composeHooks(context, createCommandRegistry(describedCommands()), {
      send: async () => Promise.reject(new HermesError('cli/no-daemon')),
      startAgent: async () => Promise.reject(new HermesError('cli/no-daemon')),
    })
    registry.discoverAndLoad()
    return registry
  }
  if (daemon === undefined) {
    const registry = createRegistry()
    const hooks = registry.list().map((hook) => hookShape.parse(hook))
    await registry.stop(0)
    return { daemon, hooks, redact, createRegistry }
  }
  warnVersionMismatch(context, daemon)
  const { hooks } = await callRoute(daemon, listHooks, {})
  return { daemon, hooks, redact, createRegistry }
}

/** The hook as it may be printed: a command line may contain a value of `.env`. */
export function withoutSecrets(hook: KnownHook, redact: Redactor): KnownHook {
  return hookShape.parse(redactTexts(hook, redact))
}

/** Throws `cli/not-found`. */
export function findHook(name: string, hooks: readonly KnownHook[]): KnownHook {
  const match = hooks.find((hook) => hook.name === name)
  if (match !== undefined) return match
  const names = hooks.map((hook) => hook.name).join(', ')
  throw new HermesError(
    'cli/not-found',
    `No hook is called ${JSON.stringify(name)}${names === '' ? '' : `; known hooks: ${names}`}.`,
    {
      hint: '`hermes hooks list` shows all hooks.',
    },
  )
}

/** Finds a hook like `findHook`. Throws `cli/failed` for a hook that is invalid or has no consent. */
export function findRunnableHook(name: string, hooks: readonly KnownHook[]): KnownHook {
  const hook = findHook(name, hooks)
  if (hook.state === 'invalid') throw new HermesError('cli/failed', `${name} is invalid: ${hook.reason}`)
  if (hook.state !== 'not-accepted') return hook
  throw new HermesError('cli/failed', `${name} does not run without consent.`, {
    hint: `\`hermes hooks accept ${name}\` gives it.`,
  })
}
