/**
 * The lasting connection to Discord's gateway: discord.js reconnects and resumes, the watchdog detects a connection that
 * is open but dead, and interruptions that last are reported.
 */
import { HermesError, messageOf, sleep, withTimeout } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { describeCloseCode, toCloseError, toConnectError } from '../errors.ts'
import { asRecord, type Dispatch, isRecord, type JsonRecord, textAt } from '../inbound/payload.ts'
import { type ClientListener, createDiscordClient } from './discord-client.ts'
import { createOutageReporter } from './outage.ts'
import { neverSettles } from './sharding-strategy.ts'
import type { GatewayTiming } from './timing.ts'
import { createWatchdog } from './watchdog.ts'

/** What the adapter does with a session of Discord's gateway. */
export interface SessionListener {
  /** A session began. Events that were missed before it are not sent again. */
  onReady(data: JsonRecord, session: string): void
  onDispatch(event: Dispatch, session: string): void
}

export interface Gateway {
  /** Resolves at READY. Rejects when Discord refuses, when the first attempt fails, or when the signal aborts. Once. */
  open(signal: AbortSignal): Promise<void>
  /** Idempotent. Resolves in bounded time. */
  close(): Promise<void>
}

const closeTimeoutMs = 1_000
/** The first attempts follow each other at once, later ones after growing pauses. */
const immediateRetries = 2
const baseBackoffMs = 500

export function createGateway(account: DiscordAccount, timing: GatewayTiming, session: SessionListener): Gateway {
  const { connection, log } = account.context
  const closing = new AbortController()
  const opened = Promise.withResolvers<void>()
  let sessionId = ''
  let wasReady = false
  let isRefused = false
  let failures = 0
  let lastError = ''
  const outage = createOutageReporter(timing.graceMs, connection.health)
  const listener: ClientListener = {
    onActivity() {
      connection.received()
      watchdog.reset()
    },
    onReady(data) {
      const ready = asRecord(data)
      sessionId = textAt(ready, 'session_id') ?? ''
      handleConnected()
      session.onReady(ready, sessionId)
    },
    onResumed: handleConnected,
    onDispatch(payload) {
      const event = parseDispatch(payload)
      if (event !== undefined) session.onDispatch(event, sessionId)
    },
    onClosed(code) {
      if (!isRefused) handleInterruption(describeCloseCode(code))
    },
    onFatalClose: (code) => handleRefusal(toCloseError(code)),
    onError(error) {
      lastError = messageOf(error)
      log.debug({ event: 'discord.connection_error', reason: lastError }, 'connection error')
    },
    onSessionLimit: handleInterruption,
    beforeConnect,
  }
  const client = createDiscordClient(account, timing, listener)
  const watchdog = createWatchdog(timing, client.sendHeartbeat, replaceConnection)

  return {
    async open(signal) {
      const cancel = () => opened.reject(new HermesError('platform/connect-failed', 'The attempt was cancelled.'))
      const cancelled = AbortSignal.any([signal, closing.signal])
      cancelled.addEventListener('abort', cancel, { once: true })
      if (cancelled.aborted) cancel()
      else client.login().catch((error) => opened.reject(toConnectError(error)))
      try {
        await opened.promise
      } finally {
        cancelled.removeEventListener('abort', cancel)
      }
    },
    async close() {
      if (closing.signal.aborted) return
      closing.abort()
      outage.stop()
      watchdog.stop()
      await withTimeout(client.destroy(), closeTimeoutMs)
    },
  }

  async function beforeConnect(): Promise<void> {
    watchdog.reset()
    const exponent = Math.min(failures - immediateRetries, 10)
    const pauseMs = exponent <= 0 ? 0 : Math.random() * Math.min(timing.maxBackoffMs, baseBackoffMs * 2 ** exponent)
    if (pauseMs > 0) await sleep(pauseMs, closing.signal)
    if (closing.signal.aborted) await neverSettles()
  }

  function handleConnected(): void {
    wasReady = true
    failures = 0
    opened.resolve()
    outage.end()
  }

  /** discord.js is already reconnecting. */
  function handleInterruption(reason: string): void {
    failures += 1
    const text = lastError === '' ? reason : `${reason}: ${lastError}`
    lastError = ''
    if (!wasReady) opened.reject(new HermesError('platform/connect-failed', `${capitalize(text)}.`))
    else if (!closing.signal.aborted) outage.begin(text)
  }

  function handleRefusal(error: HermesError): void {
    isRefused = true
    opened.reject(error)
    outage.stop()
    watchdog.stop()
    if (wasReady && !closing.signal.aborted) connection.refused(error.message)
  }

  function replaceConnection(): void {
    if (closing.signal.aborted) return
    const reason = 'no heartbeat was acknowledged'
    log.info({ event: 'discord.connection_replaced', reason }, 'connection is dead; opening another one')
    handleInterruption(reason)
    watchdog.reset()
    client.replaceConnection()
  }
}

function parseDispatch(payload: unknown): Dispatch | undefined {
  const { t, s, d } = asRecord(payload)
  return typeof t === 'string' && typeof s === 'number' && isRecord(d) ? { t, s, d } : undefined
}

function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}
