/**
 * The hooks that stand in the configuration: programs to run and addresses to tell (contract §2.7).
 */
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../lib/log.ts'
import { createCommandHook, fallbackDecision } from './command-hook.ts'
import { type CommandHook, type HooksConfig, listCommandHooks, type Webhook } from './config.ts'
import { hasConsent, readConsents } from './consent.ts'
import type { Subscription } from './event-names.ts'
import { type HookStatus, zeroCounts } from './hook-status.ts'
import { baseEnvironment } from './host-groups.ts'
import { createListener, type Listener } from './listener.ts'
import { createProgramCheck, programFiles } from './program-files.ts'
import { splitShellWords } from './shell-words.ts'
import { createWebhook, type WebhookDeps } from './webhook.ts'

export interface ConfigHooksDeps extends Pick<WebhookDeps, 'fetch' | 'newId' | 'clock'> {
  readonly home: string
  readonly settings: () => HooksConfig
  readonly environment: () => Readonly<Record<string, string>>
  /** Runs every program, whether it was accepted or not. */
  readonly acceptsAll: () => boolean
  eventIssue(event: string): string | undefined
  subscriptionsOf(events: readonly string[]): string[]
  isPaused(id: string): boolean
  onChange(): void
  readonly log: Logger
}

export interface ConfigHooks {
  /** Reads the configuration anew; hooks that stand there as before keep their line and their counts. Never throws. */
  refresh(): void
  subscriptions(): readonly Subscription<Listener>[]
  find(name: string): Listener | undefined
  list(): HookStatus[]
  stop(): void
}

type ConfiguredHook =
  | { readonly kind: 'command'; readonly events: readonly string[]; readonly spec: CommandHook }
  | { readonly kind: 'webhook'; readonly events: readonly string[]; readonly spec: Webhook }

/** What was accepted: fingerprints of the program's files, or whatever they hold. */
type AcceptedHashes = 'any' | readonly string[]

interface Entry {
  readonly configured: ConfiguredHook
  /** Undefined where nobody has accepted it. */
  readonly accepted: AcceptedHashes | undefined
  readonly listener: Listener | undefined
  /** Why it may not run right now; '' where it may. */
  blockedReason(): string
}

/** Attempts and what they need beside the time of the address itself. */
const webhookGraceMs = 1_000

export function createConfigHooks(deps: ConfigHooksDeps): ConfigHooks {
  const { home, settings, log, clock } = deps
  let entries = new Map<string, Entry>()

  function environment(): Readonly<Record<string, string>> {
    const all = deps.environment()
    return { ...(settings().env === 'declared' ? baseEnvironment(all) : all), HERMES_HOME: home }
  }

  function configuredHooks(): Map<string, ConfiguredHook> {
    const found = new Map<string, ConfiguredHook>()
    // Programs and addresses are left out where an operator wants to see the gateway without them.
    if (/^(1|true|yes|on)$/i.test(deps.environment()['HERMES_SAFE_MODE'] ?? '')) return found
    const add = (name: string, wanted: ConfiguredHook) => {
      let id = name
      for (let number = 2; found.has(id); number++) id = `${name}-${number}`
      found.set(id, wanted)
    }
    for (const { event, hook } of listCommandHooks(settings())) {
      const program = basename(splitShellWords(hook.command)?.[0] ?? '')
      add(`${event}/${program}`, { kind: 'command', events: [event], spec: hook })
    }
    for (const spec of settings().outbound) {
      add(`webhook/${spec.name ?? new URL(spec.url).host}`, { kind: 'webhook', events: spec.events, spec })
    }
    return found
  }

  function acceptedHashesFor(wanted: ConfiguredHook): AcceptedHashes | undefined {
    if (wanted.kind === 'webhook' || deps.acceptsAll()) return 'any'
    const { command } = wanted.spec
    const [event = ''] = wanted.events
    try {
      const found = readConsents(home).filter((one) => hasConsent({ event, command }, [one]))
      if (found.length === 0) return undefined
      const programs = found.flatMap(({ program }) => program ?? [])
      return programs.length < found.length ? 'any' : programs
    } catch (error) {
      log.warn({ event: 'hook.consents_unreadable', err: error }, 'accepted programs cannot be read, so none runs')
      return undefined
    }
  }

  function blockedReasonFor(id: string, { kind, spec }: ConfiguredHook, grant: AcceptedHashes): () => string {
    if (kind === 'webhook' || grant === 'any') return () => ''
    const isAccepted = createProgramCheck(programFiles(spec.command, home), grant)
    return () => (isAccepted() ? '' : `its program has changed since it was accepted: hermes hooks accept ${id}`)
  }

  function createEntryListener(id: string, wanted: ConfiguredHook, blockedReason: () => string): Listener {
    const listener = createListener({
      id,
      ...(wanted.kind === 'command'
        ? {
            run: createCommandHook(wanted.spec, { environment, cwd: home, blockedReason }),
            fallback: (context: unknown) => fallbackDecision(wanted.spec, context),
          }
        : { run: createWebhook(wanted.spec, { ...deps, environment: deps.environment, cwd: home }) }),
      deadlineMs: () => deadlineMsOf(wanted),
      isEligible: () => true,
      clock,
      log: log.child({ hook: id }),
    })
    if (deps.isPaused(id)) listener.pause()
    return listener
  }

  function refreshEntry(id: string, configured: ConfiguredHook, before: Entry | undefined): Entry {
    const isSame = isDeepStrictEqual(before?.configured, configured)
    const accepted = acceptedHashesFor(configured)
    if (before !== undefined && isSame && isDeepStrictEqual(before.accepted, accepted)) return before
    before?.listener?.stop()
    for (const event of configured.events) {
      const issue = deps.eventIssue(event)
      if (issue !== undefined && !isSame)
        log.warn({ event: 'hook.event_unknown', hook: id, issue }, 'a hook in config.yaml names an unknown event')
    }
    if (accepted !== undefined) {
      const blockedReason = blockedReasonFor(id, configured, accepted)
      if (blockedReason() !== '')
        log.warn({ event: 'hook.blocked', hook: id, reason: blockedReason() }, 'a configured hook does not run')
      return { configured, accepted, blockedReason, listener: createEntryListener(id, configured, blockedReason) }
    }
    log.warn(
      { event: 'hook.not_accepted', hook: id, fix: `hermes hooks accept ${id}` },
      'a configured hook does not run before it is accepted',
    )
    return { configured, accepted, listener: undefined, blockedReason: () => `hermes hooks accept ${id}` }
  }

  return {
    refresh() {
      const before = entries
      entries = new Map([...configuredHooks()].map(([id, wanted]) => [id, refreshEntry(id, wanted, before.get(id))]))
      for (const [id, { listener }] of before) if (!entries.has(id)) listener?.stop()
      deps.onChange()
    },
    subscriptions: () =>
      [...entries.values()].flatMap(({ configured, listener }) =>
        listener === undefined ? [] : [{ listener, events: deps.subscriptionsOf(configured.events) }],
      ),
    find: (name) => entries.get(name)?.listener,
    list: () => [...entries].map(([id, entry]) => statusOf(id, entry)),
    stop() {
      for (const { listener } of entries.values()) listener?.stop()
    },
  }
}

function deadlineMsOf({ kind, spec }: ConfiguredHook): number {
  return kind === 'command' ? spec.timeout * 1_000 : spec.timeout * 2_000 + webhookGraceMs
}

/** Commands and addresses may hold secrets: of an address only its host is shown. */
function statusOf(name: string, { configured, listener, blockedReason }: Entry): HookStatus {
  const { kind, events, spec } = configured
  const reason = blockedReason()
  const notAccepted = { state: 'not-accepted' as const, reason }
  return {
    name,
    kind,
    description: kind === 'command' ? spec.command : `POST ${new URL(spec.url).origin}`,
    events,
    ...(reason === '' && listener !== undefined ? listener.state() : notAccepted),
    problem: '',
    language: '',
    origin: 'config',
    folder: '',
    priority: 0,
    timeoutMs: deadlineMsOf(configured),
    ...(listener?.counts() ?? zeroCounts),
  }
}
