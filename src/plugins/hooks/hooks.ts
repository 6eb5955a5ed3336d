/**
 * Plugin hooks: who listens to what, and how what they answer is gathered (contract §2.5).
 */
import { HermesError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { within } from '../../lib/wait.ts'
import type { FailureMode, Registration } from '../../middleware/contract.ts'
import type { HookCallback, HookName, HookPayloads } from '../hook-map.ts'
import { createLines } from '../lines.ts'
import { type AnyCallback, type Callback, type CallbackReport, createCallback } from './callback.ts'
import { kindOf, nearestHook } from './kinds.ts'
import { viewOf } from './view.ts'

export interface PluginHooksDeps {
  readonly log: Logger
  readonly now: () => number
  /** Resolves after `ms`, or when the signal aborts; never rejects. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
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

export interface HookAnswer {
  /** The plugin's id. */
  readonly owner: string
  /** Never null or undefined. */
  readonly value: unknown
}

/** Where something happens, for all hooks. */
export interface Happening {
  /** `<platform>_<chat_type>`; '' on the command line. */
  readonly route: string
  /**
   * What happens in one conversation is heard by each plugin in its order; conversations do not wait for each other.
   * The session's key, as a rule.
   */
  readonly order: string
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
  has(name: HookName): boolean
  /**
   * Calls everybody who listens and resolves with their answers, in the order of registration; what failed, took too long
   * or returned nothing is not among them. A `pre_tool_call` that fails closed answers with a block. The payload is
   * built only if somebody listens, and nobody may change it afterwards. Never rejects.
   */
  collect<Name extends HookName>(
    name: Name,
    at: Happening,
    payload: () => HookPayloads[Name],
  ): Promise<readonly HookAnswer[]>
  /**
   * Tells everybody who listens, and returns at once: callbacks run after the caller has gone on. Each plugin hears one
   * thing after the other; what comes while 1,000 things wait is dropped.
   */
  tell<Name extends HookName>(name: Name, at: Happening, payload: () => HookPayloads[Name]): void
  /** Of one plugin. */
  report(owner: string): readonly HookReport[]
  /** Resolves when everything was heard, after `withinMs`, or when the signal aborts; tells whether all was. */
  settled(withinMs: number, signal?: AbortSignal): Promise<boolean>
}

export interface HookReport extends CallbackReport {
  /** Things it never heard of: its line was full. */
  readonly dropped: number
}

interface Listener {
  readonly callback: Callback
  readonly failsClosed: () => boolean
  dropped: number
  isGone: boolean
}

/** Things that wait for one plugin in one conversation. */
const maxWaiting = 1_000
const none: readonly HookAnswer[] = []

export function createPluginHooks(deps: PluginHooksDeps): PluginHooks {
  const { log, now, pause, timeoutMs } = deps
  const byName = new Map<string, readonly Listener[]>()
  const lines = createLines(maxWaiting)

  function registerNamed(owner: string, name: string, callback: AnyCallback, options: HookOptions = {}): Registration {
    check(owner, name, options)
    complain(owner, name, options)
    const listener: Listener = {
      callback: createCallback({
        owner,
        point: name,
        callback,
        timeoutMs: () => options.timeoutMs ?? (kindOf(name) === 'notices' ? 0 : timeoutMs()),
        now,
        pause,
        log,
      }),
      failsClosed: () => name === 'pre_tool_call' && (options.fails ?? deps.toolErrors()) === 'closed',
      dropped: 0,
      isGone: false,
    }
    byName.set(name, [...listenersOf(name), listener])
    return { name, remove: () => remove(name, listener) }
  }

  function complain(owner: string, name: string, { fails }: HookOptions): void {
    const at = { plugin: owner, hook: name }
    if (kindOf(name) === undefined) {
      const meant = nearestHook(name)
      const advice = meant === null ? '' : `; did you mean "${meant}"?`
      log.warn(at, `plugin ${owner} registers the hook "${name}", which nothing here fires${advice}`)
    }
    if (fails === 'closed' && name !== 'pre_tool_call')
      log.warn(at, `plugin ${owner} wants ${name} to fail closed; only pre_tool_call can`)
  }

  function remove(name: string, listener: Listener): boolean {
    listener.isGone = true
    const before = listenersOf(name)
    const left = before.filter((one) => one !== listener)
    if (left.length === 0) byName.delete(name)
    else byName.set(name, left)
    return left.length < before.length
  }

  function listenersOf(name: string): readonly Listener[] {
    return byName.get(name) ?? []
  }

  async function ask({ callback, failsClosed }: Listener, { order }: Happening, payload: object): Promise<unknown> {
    if (callback.point === 'pre_llm_call') await heardSoFar(callback.owner, order)
    const outcome = await callback.call(viewOf(payload))
    if (outcome.ok) return outcome.value
    if (!failsClosed()) return undefined
    return {
      action: 'block',
      message: `Not run: the plugin ${callback.owner} could not check this call (${outcome.why}).`,
    }
  }

  /**
   * A turn begins for a plugin when it has heard that its session began and the turn before ended. Only there: within a
   * turn nobody waits for who only watches.
   */
  async function heardSoFar(owner: string, order: string): Promise<void> {
    const untold = lines.idle(lineOf(owner, 'watches', order))
    if (untold !== undefined) await within(untold, patienceMs(), undefined, pause)
  }

  /** How long others wait for somebody who is never given up. */
  function patienceMs(): number {
    return timeoutMs() || 30_000
  }

  async function hear({ callback, isGone }: Listener, payload: object): Promise<void> {
    if (isGone) return
    const heard = callback.call(viewOf(payload))
    if (kindOf(callback.point) === 'notices') await within(heard, patienceMs(), undefined, pause)
    else await heard
  }

  return {
    register: (owner, name, callback, options) => registerNamed(owner, name, callback, options),
    registerNamed,
    has: (name) => byName.has(name),

    async collect(name, at, payload) {
      const listeners = byName.get(name)
      if (listeners === undefined) return none
      const complete = completed(name, at, payload())
      const values = await Promise.all(listeners.map((listener) => ask(listener, at, complete)))
      return values.flatMap((value, index) => {
        const owner = listeners[index]?.callback.owner ?? ''
        return value === undefined || value === null ? [] : [{ owner, value }]
      })
    },

    tell(name, at, payload) {
      const listeners = byName.get(name)
      if (listeners === undefined) return
      const complete = completed(name, at, payload())
      for (const listener of listeners) {
        const { owner } = listener.callback
        if (lines.push(lineOf(owner, kindOf(name), at.order), () => hear(listener, complete))) continue
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
    settled: lines.settled,
  }
}

/** Plugins may be written without types; a check that fails open because of a slip of the pen is none. */
function check(owner: string, name: string, { fails, timeoutMs }: { fails?: unknown; timeoutMs?: unknown }): void {
  const wrong = (what: string) => new HermesError('plugins/invalid-registration', `hook ${name} of ${owner}: ${what}`)
  if (fails !== undefined && fails !== 'open' && fails !== 'closed') throw wrong("expected fails: 'open' or 'closed'")
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0))
    throw wrong('expected timeoutMs, a number of milliseconds')
}

function lineOf(owner: string, kind: ReturnType<typeof kindOf>, order: string): string {
  return `${owner}\n${kind === 'streams' ? kind : ''}\n${order}`
}

function completed(name: HookName, { route }: Happening, payload: object): object {
  // The contract leaves the version out of this one.
  if (name === 'gateway_platform_event') return { ...payload, route }
  return { ...payload, telemetry_schema_version: 'hermes.observer.v1', route }
}
