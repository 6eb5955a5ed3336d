/**
 * One lasting connection to Discord's gateway, made of discord.js' shards: a shard reconnects and resumes by itself, and
 * is replaced when it hears nothing any more. Opens no connection itself: `createShard` does.
 */
import type { SessionInfo } from '@discordjs/ws'
import { HermesError, type Logger, messageOf, sleep, withTimeout } from '#sdk'
import { asRecord, type Dispatch, isRecord, type JsonRecord } from '../inbound/payload.ts'
import { describeCloseCode, fatalCloseError } from './close-codes.ts'
import { type GatewayInfo, isGatewayUrl, parseGatewayInfo } from './gateway-info.ts'
import { createOutageReporter } from './outage.ts'
import { createSessionLimit, type SessionLimit } from './session-limit.ts'
import type { Shard, ShardListener, ShardStrategy } from './shard.ts'
import { createWatchdog } from './watchdog.ts'

export interface GatewayTiming {
  /** A shard that heard nothing for so long is asked for a sign of life. Discord wants heartbeats out of turn to be rare. */
  readonly quietMs: number
  /** So long it has to give one. */
  readonly answerMs: number
  /** A connection that is gone for so long is told to people. */
  readonly graceMs: number
  /** The longest pause between two tries. */
  readonly maxBackoffMs: number
  readonly handshakeMs: number
  /** Discord takes one new session in five seconds from a bot. */
  readonly identifyGapMs: number
}

export const gatewayTiming: GatewayTiming = {
  quietMs: 20_000,
  answerMs: 8_000,
  graceMs: 3_000,
  maxBackoffMs: 5_000,
  handshakeMs: 8_000,
  identifyGapMs: 5_000,
}

export interface GatewayDeps {
  readonly token: string
  readonly intents: number
  readonly timing: GatewayTiming
  readonly random: () => number
  readonly log: Logger
  /** `GET /gateway/bot`. */
  fetchGatewayInfo(signal: AbortSignal): Promise<unknown>
  createShard(strategy: ShardStrategy, listener: ShardListener): Shard
  /** A session began; what was missed before it does not come by itself. */
  onReady(data: JsonRecord, session: string): void
  onDispatch(event: Dispatch, session: string): void
  /** Something came in, whatever it was. */
  onActivity(): void
  onHealth(state: 'connected' | 'degraded', reason?: string): void
  /** Discord will not have this bot again as it is set up. */
  onRefused(reason: string): void
}

export interface Gateway {
  /** Resolves at READY. Rejects when Discord refuses, when the first try fails, or when the signal aborts. Once. */
  open(signal: AbortSignal): Promise<void>
  /** May be called at any time, and twice. Resolves in bounded time. */
  close(): Promise<void>
}

/** A link whose end was not answered is left to itself. */
const closeTimeoutMs = 1_000
const normalClosure = 1_000
/** Anything but 1000 and 1001 leaves the session to whoever resumes it. */
const resumableClose = 4_200
/** Promptly at first, then with growing pauses. */
const immediateRetries = 2

/** One shard, and what it may still do. */
interface ShardHandle {
  readonly shard: Shard
  alive: boolean
  /** The connection is open, and can be closed in order. */
  greeted: boolean
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { timing, log } = deps
  const closing = new AbortController()
  const opened = Promise.withResolvers<void>()
  let limit: SessionLimit | undefined
  let information: GatewayInfo | undefined
  let session: SessionInfo | null = null
  let link: ShardHandle | undefined
  let isReady = false
  let wasReady = false
  let failures = 0
  /** What the last error said. */
  let lastReason = ''
  const outage = createOutageReporter(timing.graceMs, deps.onHealth)
  // A connection that is still there answers a heartbeat at once.
  const watchdog = createWatchdog({
    ...timing,
    sendPing: () => (isReady ? link?.shard.sendHeartbeat(session?.sequence ?? null) : undefined),
    onTimeout: replace,
  })

  return {
    async open(signal) {
      const giveUp = AbortSignal.any([signal, closing.signal])
      information = parseGatewayInfo(await deps.fetchGatewayInfo(giveUp))
      limit = createSessionLimit({
        ...deps,
        limit: information.session_start_limit,
        identifyGapMs: timing.identifyGapMs,
        refresh: async (until) => parseGatewayInfo(await deps.fetchGatewayInfo(until)).session_start_limit,
        onWait: (reason) => fail(reason),
      })
      giveUp.throwIfAborted()
      const refuse = () => opened.reject(new HermesError('platform/connect-failed', 'Connecting was called off.'))
      giveUp.addEventListener('abort', refuse, { once: true })
      startShard()
      try {
        await opened.promise
      } finally {
        giveUp.removeEventListener('abort', refuse)
      }
    },
    async close() {
      if (closing.signal.aborted) return
      closing.abort()
      outage.stop()
      watchdog.stop()
      const last = link
      link = undefined
      if (last !== undefined) await withTimeout(leave(last, normalClosure), closeTimeoutMs)
    },
  }

  function startShard(): void {
    const own: ShardHandle = {
      alive: true,
      greeted: false,
      shard: deps.createShard(
        strategyOf(() => own),
        listenerOf(() => own),
      ),
    }
    link = own
    own.shard.connect()
    watchdog.reset()
  }

  /** What the shard asks for. A shard that is done with gets no answer any more, and so ends. */
  function strategyOf(own: () => ShardHandle): ShardStrategy {
    if (information === undefined || limit === undefined) throw new Error('the gateway was not opened')
    const { waitForIdentify } = limit
    const { token, intents } = deps
    let isRetry = false
    return {
      options: {
        token,
        intents,
        version: '10',
        compression: null,
        gatewayInformation: information,
        shardCount: 1,
        largeThreshold: null,
        initialPresence: null,
        identifyProperties: { browser: 'hermes-gateway', device: 'hermes-gateway', os: process.platform },
        handshakeTimeout: timing.handshakeMs,
        helloTimeout: timing.handshakeMs * 2,
        readyTimeout: 15_000,
      },
      async retrieveSessionInfo() {
        // Also asked before each try to connect: there the growing pauses are.
        const waitMs = own().greeted || !isRetry ? 0 : pauseMs()
        isRetry = true
        if (waitMs > 0) await sleep(waitMs, closing.signal)
        return own().alive && !closing.signal.aborted ? session : neverSettles()
      },
      updateSessionInfo(_shard, info) {
        const usable =
          info === null || isGatewayUrl(info.resumeURL) ? info : { ...info, resumeURL: information?.url ?? '' }
        if (own().alive) session = usable
      },
      waitForIdentify: (_shard, signal) => waitForIdentify(AbortSignal.any([signal, closing.signal])),
    }
  }

  function pauseMs(): number {
    const exponent = Math.min(failures - immediateRetries, 10)
    return exponent <= 0 ? 0 : deps.random() * Math.min(timing.maxBackoffMs, 500 * 2 ** exponent)
  }

  function listenerOf(own: () => ShardHandle): ShardListener {
    const whileAlive = (act: () => void) => {
      if (!own().alive) return
      hearSomething()
      try {
        act()
      } catch (error) {
        // What is thrown into the shard would end the process.
        log.error({ error }, 'an event of Discord could not be handled')
      }
    }
    return {
      onHello() {
        own().greeted = true
        whileAlive(() => undefined)
        if (!own().alive) void leave(own(), resumableClose)
      },
      onHeartbeat: () => whileAlive(() => undefined),
      onReady: (data) =>
        whileAlive(() => {
          deps.onReady(asRecord(data), session?.sessionId ?? '')
          work()
        }),
      onResumed: () => whileAlive(work),
      onDispatch: (payload) =>
        whileAlive(() => {
          const event = readDispatch(payload)
          if (event !== undefined) deps.onDispatch(event, session?.sessionId ?? '')
        }),
      onClosed(code) {
        own().greeted = false
        if (!own().alive) return
        const error = fatalCloseError(code)
        if (error === undefined) return fail(describeCloseCode(code))
        own().alive = false
        endFor(error)
      },
      onError(error) {
        log.debug({ reason: messageOf(error) }, 'the connection to Discord has a problem')
        lastReason = messageOf(error)
      },
    }
  }

  function work(): void {
    isReady = true
    wasReady = true
    failures = 0
    opened.resolve()
    outage.end()
  }

  /** The connection is gone; the shard is trying again already. */
  function fail(reason: string): void {
    isReady = false
    failures += 1
    const said = lastReason === '' ? reason : `${reason}: ${lastReason}`
    lastReason = ''
    if (!wasReady) opened.reject(new HermesError('platform/connect-failed', `${capitalize(said)}.`))
    else if (!closing.signal.aborted) outage.begin(said)
  }

  function endFor(error: HermesError): void {
    isReady = false
    opened.reject(error)
    outage.stop()
    watchdog.stop()
    if (wasReady && !closing.signal.aborted) deps.onRefused(error.message)
  }

  function hearSomething(): void {
    deps.onActivity()
    watchdog.reset()
  }

  /** Waiting for a peer that is gone to say goodbye would take half a minute, so the old shard is left to itself. */
  function replace(): void {
    if (link === undefined || closing.signal.aborted) return
    log.info({}, 'nothing was heard from Discord for long; connecting anew')
    fail('nothing was heard from Discord for long')
    void leave(link, resumableClose)
    startShard()
  }

  /** Never rejects. */
  async function leave(left: ShardHandle, code: number): Promise<void> {
    left.alive = false
    // A connection that is just being made is closed as soon as it greets.
    if (!left.greeted) return
    left.greeted = false
    try {
      await left.shard.destroy(code)
    } catch (error) {
      log.debug({ reason: messageOf(error) }, 'a connection to Discord did not end in order')
    }
  }
}

function readDispatch(payload: unknown): Dispatch | undefined {
  const { t, s, d } = asRecord(payload)
  return typeof t === 'string' && typeof s === 'number' && isRecord(d) ? { t, s, d } : undefined
}

function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/** A promise that never settles: whoever waits for it is collected with it. */
function neverSettles(): Promise<never> {
  return new Promise(() => undefined)
}
