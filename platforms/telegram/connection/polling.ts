/**
 * Receives updates by long polling. A request confirms the updates before its offset, so they are stored first. While some
 * are still being stored, short requests fetch what has arrived since.
 * Every failure except an invalid token is retried. telegraf's own loop is not used, because it confirms updates whose
 * handler failed and stops at a 409.
 */
import { backoffMs, linkAbortSignal, messageOf, type PlatformContext, sleep } from '#sdk'
import { ApiError } from '../errors.ts'
import { createUnconfirmedUpdates, haveIds, type Ingest, type UnconfirmedUpdates } from '../inbound/ingest.ts'
import { isAlbumPart } from '../inbound/payload.ts'
import { allowedUpdates, type BotApi } from './api.ts'

/** The time that passes between requests. */
export interface PollingTime {
  /** Resolves after `ms` or when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Milliseconds of a monotonic clock. */
  now(): number
  random(): number
}

const realTime: PollingTime = { sleep, now: () => performance.now(), random: Math.random }

export interface Polling {
  /** Sends one request without a hold time, then starts the loop. Rejects when that request fails, except at a conflict. */
  start(signal: AbortSignal): Promise<void>
  /** Resolves when the loop has ended. May be called twice, and before `start`. */
  stop(): Promise<void>
}

/** Short, because a dead connection is detected only after it. */
const pollTimeoutSeconds = 7
/** Time limits of a response beyond the hold time. Slow connections get a longer one. */
const minMarginMs = 2_500
const maxMarginMs = 30_000
/** Delays after failures. The maximum keeps recovery within ten seconds. */
const minBackoffMs = 300
const maxBackoffMs = 8_000
/** The parts of an album arrive one after the other. */
const albumWaitMs = 400
/** The pause between requests while updates are being stored. Telegram answers them at once with those updates. */
const storingPauseMs = 500

interface PollingState {
  readonly api: Pick<BotApi, 'call'>
  readonly context: Pick<PlatformContext, 'connection' | 'log'>
  readonly time: PollingTime
  readonly stopping: AbortController
  readonly unconfirmed: UnconfirmedUpdates
  offset: number
  /** Long until the first response has shown how fast the connection is. */
  marginMs: number
  /** Requests in a row without a response. Either the connections are dead or they are slow. */
  timeouts: number
}

export function createPolling(
  { api, context }: Pick<PollingState, 'api' | 'context'>,
  ingest: Ingest,
  time: PollingTime = realTime,
): Polling {
  const state: PollingState = {
    api,
    context,
    time,
    stopping: new AbortController(),
    unconfirmed: createUnconfirmedUpdates(ingest),
    offset: 0,
    marginMs: 4 * minMarginMs,
    timeouts: 0,
  }
  const { stopping } = state
  let running: Promise<void> | undefined

  return {
    async start(signal) {
      const request = fetchUpdates(state, 0, AbortSignal.any([signal, stopping.signal]))
      const first = await request.catch((error: unknown) => {
        if (isConflict(error)) return []
        throw error
      })
      if (!stopping.signal.aborted) running = runLoop(state, first)
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function runLoop(state: PollingState, first: readonly unknown[]): Promise<void> {
  const { signal } = state.stopping
  const { connection, log } = state.context
  const health = createHealthReporter(connection)
  let fetched: readonly unknown[] | undefined = first
  let failures = 0
  while (!signal.aborted) {
    try {
      const isStoring = state.unconfirmed.settled() !== undefined
      const updates: readonly unknown[] =
        fetched ?? (await fetchUpdates(state, isStoring ? 0 : pollTimeoutSeconds, signal))
      fetched = undefined
      await ingestBatch(state, updates)
      failures = 0
      health.recovered()
    } catch (error) {
      if (signal.aborted) return
      if (isUnauthorised(error)) return connection.refused(reasonOf(error))
      fetched = undefined
      failures += 1
      // An idle connection is closed now and then, so a single network error is not reported.
      if (failures > 1 || !isTransient(error)) health.failed(error)
      log.debug(
        { event: 'telegram.poll_failed', err: error, failures },
        `request for updates failed: ${messageOf(error)}`,
      )
      await state.time.sleep(delayAfter(error, failures, state.time.random), signal)
    }
  }
}

/** Stores the new updates, and waits for that a limited time. Rejects when some could not be stored. */
async function ingestBatch(state: PollingState, updates: readonly unknown[]): Promise<void> {
  const { unconfirmed, stopping } = state
  const newUpdates = unconfirmed.selectNew(updates)
  if (newUpdates.length > 0) unconfirmed.store(newUpdates)
  const settled = unconfirmed.settled()
  if (settled !== undefined) await waitAtMost(state, settled, storingPauseMs, stopping.signal)
  const last = unconfirmed.takeConfirmable()
  const before = state.offset
  if (last !== undefined) state.offset = last + 1
  const failure = unconfirmed.takeFailure()
  if (failure !== undefined) throw failure.error
  if (newUpdates.length > 0 && !haveIds(newUpdates)) {
    throw new ApiError('Telegram sent updates without a valid update_id.', { notExecuted: true })
  }
  // Telegram did not apply the confirmation. A request without a delay would only repeat that.
  if (last !== undefined && state.offset === before) await state.time.sleep(minBackoffMs, stopping.signal)
}

async function waitAtMost(
  { time }: PollingState,
  work: Promise<unknown>,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const pause = linkAbortSignal(signal)
  await Promise.race([work, time.sleep(ms, pause.signal)])
  pause.release()
  pause.abort()
}

/** After a part of an album, waits and fetches once more to get the other parts. Nothing of it is confirmed yet. */
async function fetchUpdates(state: PollingState, timeout: number, signal: AbortSignal): Promise<readonly unknown[]> {
  const updates = await fetchOnce(state, timeout, signal)
  if (!isAlbumPart(state.unconfirmed.selectNew(updates).at(-1))) return updates
  await state.time.sleep(albumWaitMs, signal)
  const more = await fetchOnce(state, 0, signal)
  return more.length > updates.length ? more : updates
}

/**
 * Aborts a request without a response, so that the next one opens a new connection.
 *
 * @param timeout the number of seconds for which Telegram holds the request while there are no updates
 */
async function fetchOnce(state: PollingState, timeout: number, signal: AbortSignal): Promise<readonly unknown[]> {
  const heldMs = timeout * 1_000
  const startedAt = state.time.now()
  const call = linkAbortSignal(signal)
  const request = { offset: state.offset, timeout, limit: 100, allowed_updates: allowedUpdates }
  const response = state.api.call('getUpdates', request, call.signal)
  try {
    const marginMs = Math.min(maxMarginMs, state.marginMs * 2 ** Math.max(0, state.timeouts - 1))
    const timedOut = state.time.sleep(heldMs + marginMs, call.signal).then(() => undefined)
    const updates = await Promise.race([response, timedOut])
    const tookMs = state.time.now() - startedAt
    if (signal.aborted) throw new ApiError('The request was aborted.', { notExecuted: true })
    if (updates === undefined) {
      state.timeouts += 1
      throw new ApiError('Telegram does not respond.', { notExecuted: false })
    }
    if (!Array.isArray(updates)) {
      throw new ApiError('Telegram responded with something other than updates.', { notExecuted: true })
    }
    state.timeouts = 0
    if (tookMs >= heldMs) state.marginMs = Math.min(maxMarginMs, Math.max(minMarginMs, 2 * (tookMs - heldMs)))
    state.context.connection.received()
    return updates
  } finally {
    call.release()
    call.abort()
    // An aborted request rejects later, when nothing awaits it any more.
    response.catch(() => undefined)
  }
}

function delayAfter(error: unknown, failures: number, random: () => number): number {
  const retryAfterMs = error instanceof ApiError ? error.details.retryAfterMs : undefined
  return retryAfterMs ?? backoffMs(failures, minBackoffMs, maxBackoffMs, random)
}

/** Reports a failure from its first occurrence until recovery. */
function createHealthReporter({ health }: PlatformContext['connection']) {
  let reported: { readonly kind: string; readonly reason: string } | undefined
  return {
    /** Network errors alternate between texts. The first text is kept, so that the status does not flicker. */
    failed(error: unknown): void {
      const kind = failureKindOf(error)
      if (reported?.kind !== kind) reported = { kind, reason: reasonOf(error) }
      health('degraded', reported.reason)
    },
    recovered(): void {
      if (reported !== undefined) health('connected')
      reported = undefined
    },
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.details.code === 409
}

function isUnauthorised(error: unknown): boolean {
  return error instanceof ApiError && error.details.code === 401
}

/** A network error, or a failure on Telegram's side. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true
  const { code } = error.details
  return code === undefined || code >= 500 || code === 429
}

/** Equal for failures that are reported only once. */
function failureKindOf(error: unknown): string {
  return error instanceof ApiError && error.details.code === undefined ? 'unreachable' : reasonOf(error)
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiError)) return `messages cannot be stored: ${messageOf(error)}`
  if (isUnauthorised(error)) return 'Telegram rejects the token; check it with @BotFather'
  if (!isConflict(error)) return error.message
  if (error.matches(/webhook is active/)) {
    return 'a webhook is set for this bot, which prevents polling; set mode: webhook, or remove the webhook (how-to/connect-telegram)'
  }
  return 'another program receives the messages of this bot; stop it, or use a separate bot for this gateway'
}
