/**
 * Keeps one account connected: connects, waits until the connection is lost, and connects again with increasing delays.
 *
 * A throw, a rejection or a hang of an adapter, also in `disconnect`, becomes a state with a reason. Each attempt creates
 * a new adapter, so that a hung one cannot disturb the next.
 */
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { backoffMs, linkAbortSignal, onAbort } from '../lib/timers.ts'
import type { PlatformAccount } from './accounts.ts'
import type { PlatformAdapter, PlatformModule } from './adapter.ts'
import type { PlatformConnection, PlatformContext } from './context.ts'

export interface ConnectionHealth {
  readonly state: 'connecting' | 'connected' | 'failed' | 'disabled'
  /** The problem, for the owner. `connected` with a reason: degraded. */
  readonly reason?: string
  /** Whether data arrived recently; absent where the adapter never reports it. */
  readonly receiving?: boolean
}

/** The lifetime of one adapter. */
export interface AdapterLifecycle extends PlatformConnection {
  /** Aborts when this adapter is replaced or stopped; its HTTP routes are removed then. */
  readonly signal: AbortSignal
}

export interface ConnectionDeps {
  createContext(account: PlatformAccount, lifecycle: AdapterLifecycle): PlatformContext
  readonly clock: () => number
  readonly random: () => number
  /**
   * Takes the credentials for this home before the first attempt; released when the connection ends for good.
   * Rejects `platform/token-in-use`.
   */
  lockCredentials?(account: PlatformAccount): Promise<{ release(): void }>
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  readonly log: Logger
  /** The adapter of an account, while it is connected. */
  setAdapter(account: PlatformAccount, adapter: PlatformAdapter | undefined): void
  /** Connected, or recovered from `degraded`. */
  onConnected(account: PlatformAccount, adapter: PlatformAdapter): void
  /** Called at every change of state. Must not throw. */
  onHealth?(account: PlatformAccount, health: ConnectionHealth): void
}

export interface Connection {
  readonly account: PlatformAccount
  /** Resolves when the first attempt has ended, successful or not. */
  readonly firstAttemptDone: Promise<void>
  health(): ConnectionHealth
  /** Connects and reconnects until `stop`. Later calls do nothing. */
  start(module: PlatformModule): void
  /** Stops connecting until the configuration changes, because a retry cannot help. */
  fail(reason: string): void
  /** Disconnects in bounded time. May be called twice, and before `start`. */
  stop(): Promise<void>
}

const connectTimeoutMs = 60_000
const disconnectTimeoutMs = 5_000
/** The first and the longest delay between attempts: an attempt costs little, and an outage may end at any moment. */
const initialBackoffMs = 1_000
const maxBackoffMs = 8_000
/** After a connection of this length the delays start again with the shortest. */
const stableConnectionMs = 60_000
/** Adapters recover from short interruptions themselves; after this time a degraded adapter is replaced. */
const degradedTimeoutMs = 300_000
/** Interval at which an account looks whether the other gateway has released its token. */
const tokenRetryMs = 5_000
/** Long polls and heartbeats arrive at least this often. */
const receivingWindowMs = 90_000

interface Disconnect {
  readonly kind: 'lost' | 'refused' | 'stopped'
  readonly reason: string
}

/** What the functions below share about one account. */
interface ConnectionState {
  readonly account: PlatformAccount
  readonly deps: ConnectionDeps
  readonly log: Logger
  /** Aborted when no further attempt may begin. */
  readonly stopping: AbortController
  /** Why the account has failed, until its health says so. */
  failure: string | undefined
  readonly firstAttempt: PromiseWithResolvers<void>
  health: ConnectionHealth
  receivedAt: number | undefined
  /** The adapter, while it is connected. */
  connected: PlatformAdapter | undefined
  /** Ends the current attempt or connection. */
  end(disconnect: Disconnect): void
}

export function createConnection(account: PlatformAccount, deps: ConnectionDeps): Connection {
  const state: ConnectionState = {
    account,
    deps,
    log: deps.log.child({ platform: account.platform.name, account: account.account }),
    stopping: new AbortController(),
    failure: undefined,
    firstAttempt: Promise.withResolvers<void>(),
    health: { state: 'connecting' },
    receivedAt: undefined,
    connected: undefined,
    end: () => undefined,
  }
  const { stopping, firstAttempt } = state
  let running: Promise<void> | undefined

  return {
    account,
    firstAttemptDone: firstAttempt.promise,
    health: () => currentHealth(state),
    start(module) {
      if (!stopping.signal.aborted) running ??= keepConnected(state, module)
    },
    fail(reason) {
      if (stopping.signal.aborted) return
      stopping.abort()
      if (running === undefined) return markFailed(state, reason)
      state.failure = reason
      state.end({ kind: 'refused', reason })
    },
    async stop() {
      stopping.abort()
      state.end({ kind: 'stopped', reason: '' })
      firstAttempt.resolve()
      await running
    },
  }
}

async function keepConnected(state: ConnectionState, module: PlatformModule): Promise<void> {
  // Held between attempts, too: in an outage two gateways would otherwise take the token from each other.
  const lock = await acquireCredentials(state)
  try {
    // A stop or a failure during the wait found nothing to end.
    if (lock !== undefined && !state.stopping.signal.aborted) await reconnect(state, module)
  } finally {
    lock?.release()
  }
  // It failed while no adapter ran: during the wait for its token, or between two attempts.
  if (state.failure !== undefined) markFailed(state, state.failure)
}

/** Waits until no other gateway uses the credentials. Undefined when the connection was stopped or cannot be locked. */
async function acquireCredentials(state: ConnectionState): Promise<{ release(): void } | undefined> {
  const { account, deps, log, stopping } = state
  while (!stopping.signal.aborted) {
    try {
      return (await deps.lockCredentials?.(account)) ?? { release: () => undefined }
    } catch (error) {
      const reason = messageOf(error)
      if (!isHermesError(error, 'platform/token-in-use')) {
        markFailed(state, reason)
        return undefined
      }
      if (setHealth(state, { state: 'failed', reason }))
        log.error(
          { event: 'platform.token_in_use', reason },
          'another gateway uses the token; waiting until it is free',
        )
      state.firstAttempt.resolve()
      await deps.sleep(tokenRetryMs, stopping.signal)
    }
  }
  return undefined
}

async function reconnect(state: ConnectionState, module: PlatformModule): Promise<void> {
  const { deps, log, stopping } = state
  for (let attempt = 1; ; attempt += 1) {
    const { disconnect, connectedMs } = await runAdapterOnce(state, module)
    const { kind, reason } = disconnect
    if (kind === 'refused') markFailed(state, reason)
    state.firstAttempt.resolve()
    if (kind !== 'lost' || stopping.signal.aborted) return
    if (connectedMs >= stableConnectionMs) attempt = 1
    const delayMs = backoffMs(attempt, initialBackoffMs, maxBackoffMs, deps.random)
    const hasChanged = setHealth(state, { state: 'connecting', reason })
    // During a long outage only the first, second, fourth, eighth ... attempt is a warning.
    const level = hasChanged || Number.isInteger(Math.log2(attempt)) ? 'warn' : 'debug'
    log[level]({ event: 'platform.disconnected', reason, attempt, delayMs }, 'platform not connected, trying again')
    await deps.sleep(delayMs, stopping.signal)
    if (stopping.signal.aborted) return
  }
}

interface FinishedRun {
  readonly disconnect: Disconnect
  readonly connectedMs: number
}

/** Runs one adapter from its creation to its end. Never rejects. */
async function runAdapterOnce(state: ConnectionState, module: PlatformModule): Promise<FinishedRun> {
  const { account, deps, log } = state
  const lifetime = new AbortController()
  const ended = Promise.withResolvers<Disconnect>()
  state.end = ended.resolve
  let adapter: PlatformAdapter | undefined
  try {
    const context = deps.createContext(account, createLifecycle(state, lifetime.signal, ended.resolve))
    adapter = validateAdapter(module.createAdapter(context))
    const failed = await Promise.race([connect(state, adapter, lifetime.signal), ended.promise])
    if (failed !== undefined) return { disconnect: failed, connectedMs: 0 }
    const since = deps.clock()
    state.connected = adapter
    deps.setAdapter(account, adapter)
    setHealth(state, { state: 'connected' })
    log.info({ event: 'platform.connected' }, 'platform connected')
    deps.onConnected(account, adapter)
    state.firstAttempt.resolve()
    const disconnect = await ended.promise
    return { disconnect, connectedMs: deps.clock() - since }
  } catch (error) {
    return { disconnect: disconnectOf(error), connectedMs: 0 }
  } finally {
    state.connected = undefined
    deps.setAdapter(account, undefined)
    lifetime.abort()
    if (adapter !== undefined) await disconnectAdapter(state, adapter)
  }
}

/** Resolves with undefined once messages can arrive. Rejects as the adapter does. */
async function connect(
  { deps }: ConnectionState,
  adapter: PlatformAdapter,
  signal: AbortSignal,
): Promise<Disconnect | undefined> {
  const timeout = linkAbortSignal(signal)
  // Awaits also what an adapter without types returns.
  const connecting = async () => {
    await adapter.connect(signal)
    return undefined
  }
  try {
    return await Promise.race([
      connecting(),
      deps.sleep(connectTimeoutMs, timeout.signal).then((): Disconnect => {
        return { kind: 'lost', reason: `no connection within ${connectTimeoutMs / 1000} s` }
      }),
    ])
  } finally {
    timeout.abort('the attempt has ended')
    timeout.release()
  }
}

async function disconnectAdapter({ deps, log }: ConnectionState, adapter: PlatformAdapter): Promise<void> {
  const timeout = new AbortController()
  try {
    await Promise.race([
      adapter.disconnect(),
      deps.sleep(disconnectTimeoutMs, timeout.signal).then(() => {
        if (timeout.signal.aborted) return
        log.warn(
          { event: 'platform.disconnect_timed_out', limitMs: disconnectTimeoutMs },
          'platform did not disconnect',
        )
      }),
    ])
  } catch (error) {
    log.warn({ event: 'platform.disconnect_failed', err: error }, 'platform failed to disconnect')
  } finally {
    timeout.abort()
  }
}

function createLifecycle(
  state: ConnectionState,
  signal: AbortSignal,
  onEnd: (disconnect: Disconnect) => void,
): AdapterLifecycle {
  const { account, deps, log } = state
  let recovery: AbortController | undefined
  const stopRecovery = () => {
    recovery?.abort()
    recovery = undefined
  }
  onAbort(signal, stopRecovery)

  function recovered(): void {
    stopRecovery()
    if (state.connected === undefined || !setHealth(state, { state: 'connected' })) return
    log.info({ event: 'platform.recovered' }, 'platform recovered')
    deps.onConnected(account, state.connected)
  }

  function degraded(reason: string): void {
    const isConnected = state.connected !== undefined
    const hasChanged = setHealth(state, { state: isConnected ? 'connected' : 'connecting', reason })
    if (hasChanged) log.warn({ event: 'platform.degraded', reason }, 'platform is degraded')
    if (!isConnected || recovery !== undefined) return
    const timeout = new AbortController()
    recovery = timeout
    void deps.sleep(degradedTimeoutMs, timeout.signal).then(() => {
      if (!timeout.signal.aborted) onEnd({ kind: 'lost', reason })
    })
  }

  return {
    signal,
    health(health, reason = 'no reason given') {
      // Reports after the end of the adapter are ignored.
      if (signal.aborted) return
      if (health === 'connected') recovered()
      else degraded(reason)
    },
    received() {
      if (!signal.aborted) state.receivedAt = deps.clock()
    },
    refused(reason) {
      if (!signal.aborted) onEnd({ kind: 'refused', reason })
    },
  }
}

function currentHealth({ health, receivedAt, connected, deps }: ConnectionState): ConnectionHealth {
  if (receivedAt === undefined) return health
  return { ...health, receiving: connected !== undefined && deps.clock() - receivedAt <= receivingWindowMs }
}

function markFailed(state: ConnectionState, reason: string): void {
  state.log.error({ event: 'platform.failed', reason }, 'platform failed; a change of its configuration retries it')
  state.failure = undefined
  setHealth(state, { state: 'failed', reason })
  state.firstAttempt.resolve()
}

/** Returns whether the health has changed. */
function setHealth(state: ConnectionState, next: ConnectionHealth): boolean {
  const { health } = state
  if (next.state === health.state && next.reason === health.reason) return false
  state.health = next
  state.deps.onHealth?.(state.account, next)
  return true
}

/** For adapters written without types. */
function validateAdapter(adapter: PlatformAdapter): PlatformAdapter {
  for (const method of ['connect', 'disconnect', 'send'] as const) {
    if (typeof adapter?.[method] !== 'function') {
      throw new HermesError('platform/invalid', `The adapter has no method ${method}.`)
    }
  }
  return adapter
}

/** A retry does not help against errors marked `fatal`, nor against our own except a failed connection. */
function disconnectOf(error: unknown): Disconnect {
  const fatal = typeof error === 'object' && error !== null && 'fatal' in error && error.fatal === true
  const isOwn = isHermesError(error) && error.code !== 'platform/connect-failed'
  return { kind: fatal || isOwn ? 'refused' : 'lost', reason: messageOf(error) }
}
