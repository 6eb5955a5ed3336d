/**
 * Keeps one account connected: connects, waits until it is lost, pauses longer and longer, connects anew.
 *
 * Nothing an adapter does gets out of here: a throw, a rejection, a hang and a disconnect that never ends all become a
 * state with a reason. Every attempt has an adapter of its own, so that a hung one cannot disturb the next.
 */
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { backoffMs } from '../lib/timers.ts'
import type { PlatformAccount } from './accounts.ts'
import type { PlatformAdapter, PlatformContext, PlatformModule } from './adapter.ts'

export interface ConnectionHealth {
  readonly state: 'connecting' | 'connected' | 'failed' | 'disabled'
  /** What is wrong, for people. `connected` with a reason: it works with difficulty. */
  readonly reason?: string
  /** Whether something came in lately; absent where the adapter never says so. */
  readonly receiving?: boolean
}

/** What the context of one adapter is tied to. */
export interface AdapterLifecycle {
  /** Aborts when this adapter is done with: its HTTP routes go then. */
  readonly signal: AbortSignal
  /** The adapter's own words about itself, for `PlatformContext.health`. */
  health(state: 'connected' | 'degraded', reason?: string): void
  /** For `PlatformContext.received`. */
  received(): void
  /** For `PlatformContext.refused`. */
  refused(reason: string): void
}

export interface ConnectionDeps {
  createContext(account: PlatformAccount, life: AdapterLifecycle): PlatformContext
  readonly clock: () => number
  readonly random: () => number
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  readonly log: Logger
  /** Connected, or working again after difficulties. */
  onConnected(account: PlatformAccount, adapter: PlatformAdapter): void
  /** Told of every change of state. Must not throw. */
  onHealth?(account: PlatformAccount, health: ConnectionHealth): void
}

export interface Connection {
  readonly account: PlatformAccount
  /** Resolves when the first attempt has ended, well or not. */
  readonly firstAttemptDone: Promise<void>
  health(): ConnectionHealth
  /** Only while it is connected. */
  adapter(): PlatformAdapter | undefined
  /** Connects, and stays at it until `stop`. Once. */
  start(module: PlatformModule): void
  /** Gives up until the config changes: trying again cannot help. */
  fail(reason: string): void
  /** Disconnects, in bounded time. May be called twice, and before `start`. */
  stop(): Promise<void>
}

const connectTimeoutMs = 60_000
const disconnectTimeoutMs = 5_000
/** The first pause between two attempts, and the longest: an attempt costs little, and an outage may end any moment. */
const initialBackoffMs = 1_000
const maxBackoffMs = 8_000
/** A connection that held this long begins with short pauses again. */
const stableConnectionMs = 60_000
/** Adapters mend short interruptions themselves; one that has not by then gets replaced. */
const degradedTimeoutMs = 300_000
/** Long polls and heartbeats answer at least this often; after it nobody can say that messages flow. */
const receivingWindowMs = 90_000

type DisconnectReason = { readonly kind: 'lost' | 'refused' | 'stopped'; readonly reason: string }

export function createConnection(account: PlatformAccount, deps: ConnectionDeps): Connection {
  const log = deps.log.child({ platform: account.platform.name, account: account.account })
  const stopping = new AbortController()
  const first = Promise.withResolvers<void>()
  let health: ConnectionHealth = { state: 'connecting' }
  let receivedAt: number | undefined
  let connected: PlatformAdapter | undefined
  let end: (ending: DisconnectReason) => void = () => undefined
  let running: Promise<void> | undefined

  return {
    account,
    firstAttemptDone: first.promise,
    health: () => (receivedAt === undefined ? health : { ...health, receiving: isReceiving(receivedAt) }),
    adapter: () => connected,
    start(module) {
      if (!stopping.signal.aborted) running ??= keepConnected(module)
    },
    fail(reason) {
      if (stopping.signal.aborted) return
      if (running === undefined) markFailed(reason)
      else end({ kind: 'refused', reason })
    },
    async stop() {
      stopping.abort()
      end({ kind: 'stopped', reason: '' })
      first.resolve()
      await running
    },
  }

  async function keepConnected(module: PlatformModule): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { ending, heldForMs: connectedMs } = await runAdapterOnce(module)
      if (ending.kind === 'refused') markFailed(ending.reason)
      first.resolve()
      if (ending.kind !== 'lost' || stopping.signal.aborted) return
      if (connectedMs >= stableConnectionMs) attempt = 1
      const pauseMs = backoffMs(attempt, initialBackoffMs, maxBackoffMs, deps.random)
      const hasChanged = setHealth({ state: 'connecting', reason: ending.reason })
      // A long outage is not told every few seconds: at the first, second, fourth, eighth … attempt.
      const level = hasChanged || Number.isInteger(Math.log2(attempt)) ? 'warn' : 'debug'
      log[level]({ reason: ending.reason, attempt, pauseMs }, 'platform not connected, trying again')
      await deps.sleep(pauseMs, stopping.signal)
      if (stopping.signal.aborted) return
    }
  }

  /** One adapter from its making to its end. Never rejects. */
  async function runAdapterOnce(module: PlatformModule): Promise<{ ending: DisconnectReason; heldForMs: number }> {
    const life = new AbortController()
    const ended = Promise.withResolvers<DisconnectReason>()
    end = ended.resolve
    let adapter: PlatformAdapter | undefined
    let since: number | undefined
    try {
      adapter = validateAdapter(
        module.createAdapter(deps.createContext(account, createLifecycle(life.signal, ended.resolve))),
      )
      const disconnected = await Promise.race([connect(adapter, life.signal), ended.promise])
      if (disconnected !== undefined) return { ending: disconnected, heldForMs: 0 }
      since = deps.clock()
      connected = adapter
      setHealth({ state: 'connected' })
      log.info({}, 'platform connected')
      deps.onConnected(account, adapter)
      first.resolve()
      const ending = await ended.promise
      return { ending, heldForMs: deps.clock() - since }
    } catch (error) {
      return { ending: disconnectReasonOf(error), heldForMs: 0 }
    } finally {
      connected = undefined
      life.abort()
      if (adapter !== undefined) await disconnect(adapter)
    }
  }

  /** Undefined once messages flow. Rejects as the adapter does. */
  async function connect(adapter: PlatformAdapter, signal: AbortSignal): Promise<DisconnectReason | undefined> {
    const limit = new AbortController()
    signal.addEventListener('abort', () => limit.abort(), { once: true })
    const connecting = async () => {
      await adapter.connect(signal)
      return undefined
    }
    try {
      return await Promise.race([
        connecting(),
        deps.sleep(connectTimeoutMs, limit.signal).then((): DisconnectReason => {
          return { kind: 'lost', reason: `no connection within ${connectTimeoutMs / 1000} s` }
        }),
      ])
    } finally {
      limit.abort()
    }
  }

  async function disconnect(adapter: PlatformAdapter): Promise<void> {
    const limit = new AbortController()
    try {
      await Promise.race([
        adapter.disconnect(),
        deps.sleep(disconnectTimeoutMs, limit.signal).then(() => {
          if (!limit.signal.aborted) log.warn({ limitMs: disconnectTimeoutMs }, 'platform did not disconnect in time')
        }),
      ])
    } catch (error) {
      log.warn({ error }, 'platform failed to disconnect')
    } finally {
      limit.abort()
    }
  }

  function createLifecycle(signal: AbortSignal, onEnd: (ending: DisconnectReason) => void): AdapterLifecycle {
    let recovery: AbortController | undefined
    const recovered = () => {
      recovery?.abort()
      recovery = undefined
    }
    signal.addEventListener('abort', recovered, { once: true })
    return {
      signal,
      health(state, reason = 'no reason given') {
        // What an adapter says after its end is about nothing any more.
        if (signal.aborted) return
        if (state === 'connected') {
          recovered()
          if (connected === undefined || !setHealth({ state: 'connected' })) return
          log.info({}, 'platform works again')
          return deps.onConnected(account, connected)
        }
        const changed = setHealth({ state: connected === undefined ? 'connecting' : 'connected', reason })
        if (changed) log.warn({ reason }, 'platform works with difficulty')
        if (connected === undefined || recovery !== undefined) return
        const waiting = new AbortController()
        recovery = waiting
        void deps.sleep(degradedTimeoutMs, waiting.signal).then(() => {
          if (!waiting.signal.aborted) onEnd({ kind: 'lost', reason })
        })
      },
      received() {
        if (!signal.aborted) receivedAt = deps.clock()
      },
      refused(reason) {
        if (!signal.aborted) onEnd({ kind: 'refused', reason })
      },
    }
  }

  function isReceiving(at: number): boolean {
    return connected !== undefined && deps.clock() - at <= receivingWindowMs
  }

  function markFailed(reason: string): void {
    log.error({ reason }, 'platform failed; it is tried again when its configuration changes')
    setHealth({ state: 'failed', reason })
    first.resolve()
  }

  /** Tells whether this is news. */
  function setHealth(next: ConnectionHealth): boolean {
    if (next.state === health.state && next.reason === health.reason) return false
    health = next
    deps.onHealth?.(account, next)
    return true
  }
}

/** Guards against adapters written without types. */
function validateAdapter(adapter: PlatformAdapter): PlatformAdapter {
  for (const method of ['connect', 'disconnect', 'send'] as const) {
    if (typeof adapter?.[method] !== 'function') {
      throw new HermesError('platform/invalid', `The adapter has no method ${method}.`)
    }
  }
  return adapter
}

/** Errors that say `fatal`, and ours except a failed connect, stay what they are however often one tries. */
function disconnectReasonOf(error: unknown): DisconnectReason {
  const fatal = typeof error === 'object' && error !== null && 'fatal' in error && error.fatal === true
  const ours = isHermesError(error) && error.code !== 'platform/connect-failed'
  return { kind: fatal || ours ? 'refused' : 'lost', reason: messageOf(error) }
}
