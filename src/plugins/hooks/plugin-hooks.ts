/**
 * Registers the hooks of plugins, calls them and collects their results (contract §2.5).
 */
import { HermesError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { FailureMode, Registration } from '../../middleware/contract.ts'
import type { HookCallback, HookName, HookPayloads } from '../hook-map.ts'
import { createKeyedQueue, type KeyedQueue } from '../keyed-queue.ts'
import {
  type AnyCallback,
  type Callback,
  type CallbackReport,
  type CallbackRuntime,
  createCallback,
} from './callback.ts'
import { hookKindOf, suggestHookName } from './hook-kinds.ts'
import { lazyCopyOf } from './lazy-copy.ts'

export interface HookOptions {
  readonly fails?: FailureMode
  /** Overrides the configured timeout; 0 for none. */
  readonly timeoutMs?: number
}

export interface HookResult {
  /** The plugin's id. */
  readonly owner: string
  /** Never null or undefined. */
  readonly value: unknown
}

/** The context of one call of a hook. */
export interface HookDispatchContext {
  /** `<platform>_<chat_type>`; '' on the command line. */
  readonly route: string
  /**
   * Each plugin receives the notifications of one key in order; different keys do not wait for each other. Usually the
   * key of the session.
   */
  readonly queueKey: string
}

export interface PluginHooks {
  /** Unknown names are accepted with a warning. Callbacks are called in the order of registration. */
  register<Name extends HookName>(
    owner: string,
    name: Name,
    callback: HookCallback<Name>,
    options?: HookOptions,
  ): Registration
  /** Works like `register`, for names that are known only at run time. */
  registerNamed(owner: string, name: string, callback: AnyCallback, options?: HookOptions): Registration
  hasListeners(name: HookName): boolean
  /**
   * Calls all callbacks and resolves with their results in the order of registration, without callbacks that failed,
   * timed out or returned nothing. A `pre_tool_call` that fails closed results in a block. The payload is built only
   * for registered hooks and must not be changed afterwards. Never rejects.
   */
  collect<Name extends HookName>(
    name: Name,
    at: HookDispatchContext,
    payload: () => HookPayloads[Name],
  ): Promise<readonly HookResult[]>
  /**
   * Queues a notification of each callback and returns immediately. Each plugin receives one notification at a time; a
   * notification is dropped while 1,000 others are pending.
   */
  notify<Name extends HookName>(name: Name, at: HookDispatchContext, payload: () => HookPayloads[Name]): void
  /**
   * Resolves when the earlier notifications of a plugin have begun, so that its middleware runs after them; undefined if
   * none waits.
   */
  notificationsBegun(owner: string, queueKey: string): Promise<void> | undefined
  /** The hooks of one plugin. */
  report(owner: string): readonly PluginHookReport[]
  /** Resolves when all notifications were delivered (true), or after `withinMs` or an abort of the signal (false). */
  drain(withinMs: number, signal?: AbortSignal): Promise<boolean>
}

export interface PluginHookReport extends CallbackReport {
  /** Notifications dropped because the queue was full. */
  readonly dropped: number
}

interface Listener {
  readonly callback: Callback
  readonly failsClosed: () => boolean
  dropped: number
  isRemoved: boolean
}

/** Notifications that may wait for one plugin in one session. */
const maxPending = 1_000
const defaultMaxWaitMs = 30_000
const noResults: readonly HookResult[] = []

/**
 * @param toolErrors `plugins.pre_tool_call_errors`: the failure mode of a `pre_tool_call` whose registration defines none
 */
export function createPluginHooks(runtime: CallbackRuntime, toolErrors: () => FailureMode): PluginHooks {
  const { log } = runtime
  const byName = new Map<string, readonly Listener[]>()
  const queues = createKeyedQueue(maxPending)

  function registerNamed(owner: string, name: string, callback: AnyCallback, options: HookOptions = {}): Registration {
    validateRegistration(owner, name, options)
    warnAboutRegistration(log, owner, name, options)
    const timeoutMs = () => options.timeoutMs ?? (hookKindOf(name) === 'notification' ? 0 : runtime.timeoutMs())
    const listener: Listener = {
      callback: createCallback(runtime, owner, name, callback, timeoutMs),
      failsClosed: () => name === 'pre_tool_call' && (options.fails ?? toolErrors()) === 'closed',
      dropped: 0,
      isRemoved: false,
    }
    byName.set(name, [...(byName.get(name) ?? []), listener])
    return { name, remove: () => remove(name, listener) }
  }

  function remove(name: string, listener: Listener): boolean {
    listener.isRemoved = true
    const before = byName.get(name) ?? []
    const remaining = before.filter((each) => each !== listener)
    if (remaining.length === 0) byName.delete(name)
    else byName.set(name, remaining)
    return remaining.length < before.length
  }

  return {
    register: (owner, name, callback, options) => registerNamed(owner, name, callback, options),
    registerNamed,
    hasListeners: (name) => byName.has(name),

    async collect(name, at, payload) {
      const listeners = byName.get(name)
      if (listeners === undefined) return noResults
      const fullPayload = withEnvelope(name, at, payload())
      const values = await Promise.all(
        listeners.map((listener) => callListener(runtime, queues, listener, at.queueKey, fullPayload)),
      )
      return values.flatMap((value, index) => {
        const owner = listeners[index]?.callback.owner ?? ''
        return value === undefined || value === null ? [] : [{ owner, value }]
      })
    },

    notify(name, at, payload) {
      const listeners = byName.get(name)
      if (listeners === undefined) return
      const fullPayload = withEnvelope(name, at, payload())
      for (const listener of listeners) {
        const { owner } = listener.callback
        const queueKey = queueKeyOf(owner, hookKindOf(name), at.queueKey)
        if (queues.push(queueKey, () => notifyListener(runtime, listener, fullPayload))) continue
        if (listener.dropped === 0)
          log.warn(
            { event: 'plugin.notification_dropped', plugin: owner, hook: name },
            'a plugin hook is too slow; notifications are dropped',
          )
        listener.dropped += 1
      }
    },

    notificationsBegun(owner, queueKey) {
      const pending = queues.begun(queueKeyOf(owner, 'observer', queueKey))
      return pending && withTimeout(pending, maxWaitMs(runtime), undefined, runtime.sleep).then(() => undefined)
    },

    report: (owner) =>
      [...byName.values()]
        .flat()
        .filter(({ callback }) => callback.owner === owner)
        .map(({ callback, dropped }) => ({ ...callback.report(), dropped })),
    drain: queues.drain,
  }
}

async function callListener(
  runtime: CallbackRuntime,
  queues: KeyedQueue,
  { callback, failsClosed }: Listener,
  queueKey: string,
  payload: object,
): Promise<unknown> {
  await waitForObservers(runtime, queues, callback, queueKey)
  const result = await callback.call(lazyCopyOf(payload))
  if (result.ok) return result.value
  if (!failsClosed()) return undefined
  return {
    action: 'block',
    message: `Not run: the plugin ${callback.owner} could not check this call (${result.reason}).`,
  }
}

/**
 * A turn starts for a plugin after its notifications of the start of the session and of the end of the previous turn have
 * ended. Within a turn, earlier notifications of the plugin have begun, so that it sees the order of the contract.
 */
async function waitForObservers(
  runtime: CallbackRuntime,
  queues: KeyedQueue,
  { owner, point }: Pick<Callback, 'owner' | 'point'>,
  queueKey: string,
): Promise<void> {
  const key = queueKeyOf(owner, 'observer', queueKey)
  const pending = point === 'pre_llm_call' ? queues.idle(key) : queues.begun(key)
  if (pending !== undefined) await withTimeout(pending, maxWaitMs(runtime), undefined, runtime.sleep)
}

/** Limits the wait for callbacks that have no timeout of their own. */
function maxWaitMs({ timeoutMs }: CallbackRuntime): number {
  return timeoutMs() || defaultMaxWaitMs
}

async function notifyListener(
  runtime: CallbackRuntime,
  { callback, isRemoved }: Listener,
  payload: object,
): Promise<void> {
  if (isRemoved) return
  const call = callback.call(lazyCopyOf(payload))
  if (hookKindOf(callback.point) === 'notification')
    await withTimeout(call, maxWaitMs(runtime), undefined, runtime.sleep)
  else await call
}

function warnAboutRegistration(log: Logger, owner: string, name: string, { fails }: HookOptions): void {
  const fields = { plugin: owner, hook: name }
  if (hookKindOf(name) === undefined) {
    const suggestion = suggestHookName(name) ?? undefined
    log.warn({ event: 'plugin.unknown_hook', ...fields, suggestion }, 'a plugin registers a hook that does not exist')
  }
  if (fails === 'closed' && name !== 'pre_tool_call')
    log.warn({ event: 'plugin.fails_closed_ignored', ...fields }, 'only pre_tool_call can fail closed')
}

/** Checks at run time, because plugins may be written without types and a typo must not turn a check off. */
function validateRegistration(
  owner: string,
  name: string,
  { fails, timeoutMs }: { fails?: unknown; timeoutMs?: unknown },
): void {
  const invalid = (detail: string) =>
    new HermesError('plugins/invalid-registration', `hook ${name} of ${owner}: ${detail}`)
  if (fails !== undefined && fails !== 'open' && fails !== 'closed') throw invalid("expected fails: 'open' or 'closed'")
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0))
    throw invalid('expected timeoutMs, a number of milliseconds')
}

/** Chunks of streams have a queue of their own, so that they do not displace other notifications. */
function queueKeyOf(owner: string, kind: ReturnType<typeof hookKindOf>, queueKey: string): string {
  return `${owner}\n${kind === 'stream' ? kind : ''}\n${queueKey}`
}

function withEnvelope(name: HookName, { route }: HookDispatchContext, payload: object): object {
  // The contract defines no schema version for this hook.
  if (name === 'gateway_platform_event') return { ...payload, route }
  return { ...payload, telemetry_schema_version: 'hermes.observer.v1', route }
}
