/**
 * Hooks that are defined in the configuration: programs and webhooks (contract §2.7).
 */
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createCommandHook, fallbackDecision } from './command-hook.ts'
import { type CommandHook, type HooksConfig, hasInvalidProgram, listCommandHooks, type Webhook } from './config.ts'
import { hasConsent, readConsents } from './consent.ts'
import type { HookRegistryDeps, HookSubscriptions } from './contract.ts'
import type { Subscription } from './event-names.ts'
import { type HookStatus, zeroCounts } from './hook-status.ts'
import { baseEnvironment } from './host-groups.ts'
import { createListener, type Listener } from './listener.ts'
import { createPluginEventHook, invalidCheckHook, toolCheckEvent } from './plugin-events.ts'
import { createProgramCheck, programFiles } from './program-files.ts'
import { splitShellWords } from './shell-words.ts'
import { createWebhook } from './webhook.ts'

export interface ConfigHooks {
  /** Reads the configuration again. Unchanged hooks keep their queue and their statistics. Never throws. */
  refresh(): void
  subscriptions(): readonly Subscription<Listener>[]
  find(name: string): Listener | undefined
  list(): HookStatus[]
  stop(): void
}

type ConfiguredHook =
  | { readonly kind: 'command'; readonly events: readonly string[]; readonly spec: CommandHook }
  | { readonly kind: 'webhook'; readonly events: readonly string[]; readonly spec: Webhook }

/** The accepted hashes of the program's files; `any` if the content of the files does not matter. */
type AcceptedHashes = 'any' | readonly string[]

interface Entry {
  readonly configured: ConfiguredHook
  /** `undefined` if the program has not been accepted. */
  readonly accepted: AcceptedHashes | undefined
  readonly listener: Listener | undefined
  /** With the events of plugins. */
  readonly registrations: readonly { remove(): unknown }[]
  /** Why the hook must not run; '' if it may run. */
  blockedReason(): string
}

/** Time for the overhead of both attempts, in addition to the timeout of the requests. */
const webhookGraceMs = 1_000

export function createConfigHooks(deps: HookRegistryDeps, subscriptions: HookSubscriptions): ConfigHooks {
  const { home, settings, pluginEvents, log, clock } = deps
  let entries = new Map<string, Entry>()
  let toolBlock: { remove(): unknown } | undefined

  function environment(): Readonly<Record<string, string>> {
    const all = deps.environment()
    return { ...(settings().env === 'declared' ? baseEnvironment(all) : all), HERMES_HOME: home }
  }

  function blockedReasonFor(id: string, { kind, spec }: ConfiguredHook, accepted: AcceptedHashes): () => string {
    if (kind === 'webhook' || accepted === 'any') return () => ''
    const isAccepted = createProgramCheck(programFiles(spec.command, home), accepted)
    return () => (isAccepted() ? '' : `the program has changed since it was accepted; run: hermes hooks accept ${id}`)
  }

  function createEntryListener(id: string, configured: ConfiguredHook, blockedReason: () => string): Listener {
    const listener = createListener({
      id,
      ...(configured.kind === 'command'
        ? {
            run: createCommandHook(configured.spec, home, environment, blockedReason),
            fallback: (context: unknown) => fallbackDecision(configured.spec, context),
          }
        : { run: createWebhook(configured.spec, deps) }),
      deadlineMs: () => deadlineMsOf(configured),
      isEligible: () => true,
      neverTrips: configured.kind === 'command' && configured.events.includes(toolCheckEvent),
      runsConcurrently: configured.events.some(pluginEvents.usesResults),
      clock,
      log: log.child({ hook: id }),
    })
    if (subscriptions.isPaused(id)) listener.pause()
    return listener
  }

  function registerPluginEvents(id: string, { kind, events, spec }: ConfiguredHook, listener: Listener | undefined) {
    const command = kind === 'command' ? spec : undefined
    return events.filter(pluginEvents.includes).map((event) => {
      const usesResults = pluginEvents.usesResults(event)
      return pluginEvents.register(event, createPluginEventHook({ id, event, command, listener, usesResults }))
    })
  }

  function refreshEntry(id: string, configured: ConfiguredHook, before: Entry | undefined): Entry {
    const isSame = isDeepStrictEqual(before?.configured, configured)
    const accepted = acceptedHashesFor(configured, deps)
    if (before !== undefined && isSame && isDeepStrictEqual(before.accepted, accepted)) return before
    if (before !== undefined) stopEntry(before)
    for (const event of configured.events) {
      const issue = pluginEvents.includes(event) ? undefined : subscriptions.eventIssue(event)
      if (issue !== undefined && !isSame)
        log.warn({ event: 'hook.event_unknown', hook: id, issue }, 'a configured hook subscribes to an unknown event')
    }
    if (accepted !== undefined) {
      const blockedReason = blockedReasonFor(id, configured, accepted)
      if (blockedReason() !== '')
        log.warn({ event: 'hook.blocked', hook: id, reason: blockedReason() }, 'a configured hook does not run')
      const listener = createEntryListener(id, configured, blockedReason)
      const registrations = registerPluginEvents(id, configured, listener)
      return { configured, accepted, blockedReason, listener, registrations }
    }
    log.warn(
      { event: 'hook.not_accepted', hook: id, fix: `hermes hooks accept ${id}` },
      'a configured hook does not run until it is accepted',
    )
    return {
      configured,
      accepted,
      listener: undefined,
      registrations: registerPluginEvents(id, configured, undefined),
      blockedReason: () => `not accepted; run: hermes hooks accept ${id}`,
    }
  }

  function refreshToolBlock(isNeeded: boolean): void {
    if (isNeeded) toolBlock ??= pluginEvents.register(toolCheckEvent, invalidCheckHook)
    else {
      toolBlock?.remove()
      toolBlock = undefined
    }
  }

  return {
    refresh() {
      const before = entries
      const isSafeMode = isSafeModeSet(deps.environment()['HERMES_SAFE_MODE'])
      refreshToolBlock(!isSafeMode && hasInvalidProgram(settings(), toolCheckEvent))
      const configuredNow = isSafeMode ? new Map<string, ConfiguredHook>() : configuredHooks(settings())
      const isUsed = ({ events }: ConfiguredHook) =>
        deps.onlyPluginEvents !== true || events.some(pluginEvents.includes)
      const used = [...configuredNow].filter(([, hook]) => isUsed(hook))
      entries = new Map(used.map(([id, hook]) => [id, refreshEntry(id, hook, before.get(id))]))
      for (const [id, entry] of before) if (!entries.has(id)) stopEntry(entry)
      subscriptions.onChange()
    },
    subscriptions: () =>
      [...entries.values()].flatMap(({ configured, listener }) =>
        listener === undefined ? [] : [{ listener, events: subscriptions.canonicalEvents(configured.events) }],
      ),
    find: (name) => entries.get(name)?.listener,
    list: () => [...entries].map(([id, entry]) => statusOf(id, entry)),
    stop() {
      refreshToolBlock(false)
      for (const entry of entries.values()) stopEntry(entry)
    },
  }
}

function stopEntry({ listener, registrations }: Entry): void {
  for (const registration of registrations) registration.remove()
  listener?.stop()
}

/** Safe mode starts the gateway without programs and webhooks. */
function isSafeModeSet(safeMode = ''): boolean {
  return /^(1|true|yes|on)$/i.test(safeMode)
}

/** By id. */
function configuredHooks(settings: HooksConfig): Map<string, ConfiguredHook> {
  const hooks = new Map<string, ConfiguredHook>()
  const add = (name: string, configured: ConfiguredHook) => {
    let id = name
    for (let number = 2; hooks.has(id); number++) id = `${name}-${number}`
    hooks.set(id, configured)
  }
  for (const { event, hook } of listCommandHooks(settings)) {
    const program = basename(splitShellWords(hook.command)?.[0] ?? '')
    add(`${event}/${program}`, { kind: 'command', events: [event], spec: hook })
  }
  for (const spec of settings.outbound) {
    if (spec === undefined) continue
    add(`webhook/${spec.name ?? new URL(spec.url).host}`, { kind: 'webhook', events: spec.events, spec })
  }
  return hooks
}

function acceptedHashesFor(configured: ConfiguredHook, deps: HookRegistryDeps): AcceptedHashes | undefined {
  if (configured.kind === 'webhook' || deps.acceptsAll()) return 'any'
  const { command } = configured.spec
  const [event = ''] = configured.events
  try {
    const consents = readConsents(deps.home).filter((consent) => hasConsent({ event, command }, [consent]))
    if (consents.length === 0) return undefined
    const programs = consents.flatMap(({ program }) => program ?? [])
    return programs.length < consents.length ? 'any' : programs
  } catch (error) {
    deps.log.warn(
      { event: 'hook.consents_unreadable', err: error },
      'the list of accepted programs cannot be read: no program runs',
    )
    return undefined
  }
}

function deadlineMsOf({ kind, spec }: ConfiguredHook): number {
  return kind === 'command' ? spec.timeout * 1_000 : spec.timeout * 2_000 + webhookGraceMs
}

/** Shows only the origin of a URL, because its path and query may contain secrets. */
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
