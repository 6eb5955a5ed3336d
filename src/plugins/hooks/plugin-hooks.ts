/**
 * Plugin hooks: who listens to what, and how what they answer is gathered (contract §2.5).
 */
import { HermesError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { FailureMode, Registration } from '../../middleware/contract.ts'
import type { HookCallback, HookName, HookPayloads } from '../hook-map.ts'
import { createKeyedQueue } from '../keyed-queue.ts'
import { type AnyCallback, type Callback, type CallbackReport, createCallback } from './callback.ts'
import { hookKindOf, suggestHookName } from './hook-kinds.ts'
import { lazyCopyOf } from './lazy-copy.ts'

export interface PluginHooksDeps {
  readonly log: Logger
  readonly now: () => number
  /** Resolves after `ms`, or when the signal aborts; never rejects. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** `plugins.hook_callback_timeout`, ms; 0 for none. */
  timeoutMs(): number
  /** `plugins.pre_tool_call_errors`: what a `pre_tool_call` that fails means where its registration says nothing. */
  toolErrors(): FailureMode
}

export interface HookOptions {
  readonly fails?: FailureMode
  /** In place of the configured one. 0 for none. */
  readonly timeoutMs?: number
}

export interface HookResult {
  /** The plugin's id. */
  readonly owner: string
  /** Never null or undefined. */
  readonly value: unknown
}

/** Where something happens, for all hooks. */
export interface HookDispatchContext {
  /** `<platform>_<chat_type>`; '' on the command line. */
  readonly route: string
  /**
   * What happens in one conversation is heard by each plugin in its order; conversations do not wait for each other.
   * The session's key, as a rule.
   */
  readonly queueKey: string
}

export interface PluginHooks {
  /** Unknown names are kept, with a warning. The order of registration is the order of calls. */
  register<Name extends HookName>(
    owner: string,
    name: Name,
    callback: HookCallback<Name>,
    options?: HookOptions,
  ): Registration
  /** As `register`, for names that are known only when the plugin runs. */
  registerNamed(owner: string, name: string, callback: AnyCallback, options?: HookOptions): Registration
  hasListeners(name: HookName): boolean
  /**
   * Calls everybody who listens and resolves with their answers, in the order of registration; what failed, took too long
   * or returned nothing is not among them. A `pre_tool_call` that fails closed answers with a block. The payload is
   * built only if somebody listens, and nobody may change it afterwards. Never rejects.
   */
  collect<Name extends HookName>(
    name: Name,
    at: HookDispatchContext,
    payload: () => HookPayloads[Name],
  ): Promise<readonly HookResult[]>
  /**
   * Tells everybody who listens, and returns at once: callbacks run after the caller has gone on. Each plugin hears one
   * thing after the other; what comes while 1,000 things wait is dropped.
   */
  notify<Name extends HookName>(name: Name, at: HookDispatchContext, payload: () => HookPayloads[Name]): void
  /** Of one plugin. */
  report(owner: string): readonly PluginHookReport[]
  /** Resolves when everything was heard, after `withinMs`, or when the signal aborts; tells whether all was. */
  drain(withinMs: number, signal?: AbortSignal): Promise<boolean>
}

export interface PluginHookReport extends CallbackReport {
  /** Things it never heard of: its line was full. */
  readonly dropped: number
}

interface Listener {
  readonly callback: Callback
  readonly failsClosed: () => boolean
  dropped: number
  isRemoved: boolean
}

/** Things that wait for one plugin in one conversation. */
const maxPending = 1_000
const noResults: readonly HookResult[] = []

export function createPluginHooks(deps: PluginHooksDeps): PluginHooks {
  const { log, now, sleep, timeoutMs } = deps
  const byName = new Map<string, readonly Listener[]>()
  const queues = createKeyedQueue(maxPending)

  function registerNamed(owner: string, name: string, callback: AnyCallback, options: HookOptions = {}): Registration {
    validateRegistration(owner, name, options)
    warnAboutRegistration(owner, name, options)
    const listener: Listener = {
      callback: createCallback({
        owner,
        point: name,
        callback,
        timeoutMs: () => options.timeoutMs ?? (hookKindOf(name) === 'notices' ? 0 : timeoutMs()),
        now,
        sleep,
        log,
      }),
      failsClosed: () => name === 'pre_tool_call' && (options.fails ?? deps.toolErrors()) === 'closed',
      dropped: 0,
      isRemoved: false,
    }
    byName.set(name, [...listenersOf(name), listener])
    return { name, remove: () => remove(name, listener) }
  }

  function warnAboutRegistration(owner: string, name: string, { fails }: HookOptions): void {
    const at = { plugin: owner, hook: name }
    if (hookKindOf(name) === undefined) {
      const suggestion = suggestHookName(name)
      const advice = suggestion === null ? '' : `; did you mean "${suggestion}"?`
      log.warn(at, `plugin ${owner} registers the hook "${name}", which nothing here fires${advice}`)
    }
    if (fails === 'closed' && name !== 'pre_tool_call')
      log.warn(at, `plugin ${owner} wants ${name} to fail closed; only pre_tool_call can`)
  }

  function remove(name: string, listener: Listener): boolean {
    listener.isRemoved = true
    const before = listenersOf(name)
    const left = before.filter((one) => one !== listener)
    if (left.length === 0) byName.delete(name)
    else byName.set(name, left)
    return left.length < before.length
  }

  function listenersOf(name: string): readonly Listener[] {
    return byName.get(name) ?? []
  }

  async function callListener(
    { callback, failsClosed }: Listener,
    { queueKey }: HookDispatchContext,
    payload: object,
  ): Promise<unknown> {
    if (callback.point === 'pre_llm_call') await waitForObservers(callback.owner, queueKey)
    const outcome = await callback.call(lazyCopyOf(payload))
    if (outcome.ok) return outcome.value
    if (!failsClosed()) return undefined
    return {
      action: 'block',
      message: `Not run: the plugin ${callback.owner} could not check this call (${outcome.reason}).`,
    }
  }

  /**
   * A turn begins for a plugin when it has heard that its session began and the turn before ended. Only there: within a
   * turn nobody waits for who only watches.
   */
  async function waitForObservers(owner: string, order: string): Promise<void> {
    const pending = queues.idle(queueKeyOf(owner, 'watches', order))
    if (pending !== undefined) await withTimeout(pending, maxWaitMs(), undefined, sleep)
  }

  /** How long others wait for somebody who is never given up. */
  function maxWaitMs(): number {
    return timeoutMs() || 30_000
  }

  async function notifyListener({ callback, isRemoved }: Listener, payload: object): Promise<void> {
    if (isRemoved) return
    const heard = callback.call(lazyCopyOf(payload))
    if (hookKindOf(callback.point) === 'notices') await withTimeout(heard, maxWaitMs(), undefined, sleep)
    else await heard
  }

  return {
    register: (owner, name, callback, options) => registerNamed(owner, name, callback, options),
    registerNamed,
    hasListeners: (name) => byName.has(name),

    async collect(name, at, payload) {
      const listeners = byName.get(name)
      if (listeners === undefined) return noResults
      const fullPayload = withEnvelope(name, at, payload())
      const values = await Promise.all(listeners.map((listener) => callListener(listener, at, fullPayload)))
      return values.flatMap((value, index) => {
        const owner = listeners[index]?.callback.owner ?? ''
        return value === undefined || value === null ? [] : [{ owner, value }]
      })
    },

    notify(name, at, payload) {
      const listeners = byName.get(name)
      if (listeners === undefined) return
      const complete = withEnvelope(name, at, payload())
      for (const listener of listeners) {
        const { owner } = listener.callback
        if (queues.push(queueKeyOf(owner, hookKindOf(name), at.queueKey), () => notifyListener(listener, complete)))
          continue
        if (listener.dropped === 0)
          log.warn({ plugin: owner, hook: name }, `plugin ${owner} is too slow for ${name}: some of it is dropped`)
        listener.dropped += 1
      }
    },

    report: (owner) =>
      [...byName.values()]
        .flat()
        .filter(({ callback }) => callback.owner === owner)
        .map(({ callback, dropped }) => ({ ...callback.report(), dropped })),
    drain: queues.drain,
  }
}

/** Plugins may be written without types; a check that fails open because of a slip of the pen is none. */
function validateRegistration(
  owner: string,
  name: string,
  { fails, timeoutMs }: { fails?: unknown; timeoutMs?: unknown },
): void {
  const wrong = (what: string) => new HermesError('plugins/invalid-registration', `hook ${name} of ${owner}: ${what}`)
  if (fails !== undefined && fails !== 'open' && fails !== 'closed') throw wrong("expected fails: 'open' or 'closed'")
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0))
    throw wrong('expected timeoutMs, a number of milliseconds')
}

function queueKeyOf(owner: string, kind: ReturnType<typeof hookKindOf>, order: string): string {
  return `${owner}\n${kind === 'streams' ? kind : ''}\n${order}`
}

function withEnvelope(name: HookName, { route }: HookDispatchContext, payload: object): object {
  // The contract leaves the version out of this one.
  if (name === 'gateway_platform_event') return { ...payload, route }
  return { ...payload, telemetry_schema_version: 'hermes.observer.v1', route }
}
