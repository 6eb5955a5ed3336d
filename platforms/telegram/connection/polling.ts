/**
 * Asks Telegram for updates, one long question after another. What an answer brought is acknowledged by the next question,
 * so it is handed in first; a failure of any kind is waited out and asked again. (telegraf's own loop confirms updates
 * whose handler failed, and ends at a 409.)
 */
import { backoffMs, type Logger, linkAbortSignal, messageOf } from '#sdk'
import { ApiError } from '../errors.ts'
import { endsInAlbum } from '../inbound/albums.ts'
import { asNumber, asRecord } from '../inbound/payload.ts'

export interface PollingDeps {
  /** `timeout` in seconds: how long Telegram holds the question while nothing arrives. */
  getUpdates(question: { readonly offset: number; readonly timeout: number }, signal: AbortSignal): Promise<unknown>
  /** Resolves when all of them are on disk. */
  ingest(updates: readonly unknown[]): Promise<void>
  health(state: 'connected' | 'degraded', reason?: string): void
  /** Telegram does not know the token any more: asking again would change nothing. */
  refused(reason: string): void
  /** An answer came. */
  received(): void
  /** Resolves after `ms` or when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** ms of a clock that only goes forward. */
  readonly now: () => number
  readonly random: () => number
  readonly log: Logger
}

export interface Polling {
  /** One question that is answered at once, then the loop. Rejects as the question does, except for a conflict. */
  start(signal: AbortSignal): Promise<void>
  /** Resolves when the loop has ended. May be called twice, and before `start`. */
  stop(): Promise<void>
}

/** Short, because a connection that has died without a word is noticed only after it. */
const pollTimeoutSeconds = 7
/** How much longer an answer may take; a slow connection is given more. */
const minMarginMs = 2_500
const maxMarginMs = 30_000
/** The pauses after failures; the longest keeps a recovery within ten seconds. */
const minBackoffMs = 300
const maxBackoffMs = 8_000
/** The parts of an album arrive one after the other. */
const albumWaitMs = 400

export function createPolling(deps: PollingDeps): Polling {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let offset = 0
  // Generous until an answer has shown how fast the connection is.
  let marginMs = 4 * minMarginMs
  /** Questions in a row that nobody answered: either connections that have died, or a slow one. */
  let unanswered = 0

  return {
    async start(signal) {
      const first = await fetchUpdates(0, AbortSignal.any([signal, stopping.signal])).catch((error: unknown) => {
        if (isConflict(error)) return []
        throw error
      })
      if (!stopping.signal.aborted) running = loop(first)
    },
    async stop() {
      stopping.abort()
      await running
    },
  }

  async function loop(first: readonly unknown[]): Promise<void> {
    let given: readonly unknown[] | undefined = first
    let failures = 0
    const trouble = createHealthReporter(deps.health)
    while (!stopping.signal.aborted) {
      try {
        const updates: readonly unknown[] = given ?? (await fetchUpdates(pollTimeoutSeconds, stopping.signal))
        given = undefined
        if (updates.length > 0) await ingestBatch(updates)
        failures = 0
        trouble.over()
      } catch (error) {
        if (stopping.signal.aborted) return
        if (isUnauthorised(error)) return deps.refused(reasonOf(error))
        given = undefined
        failures += 1
        // An idle connection is closed now and then: only what fails twice, or for a reason, is told.
        if (failures > 1 || !isTransient(error)) trouble.tell(error)
        deps.log.debug({ error, failures }, `the question for updates failed: ${messageOf(error)}`)
        await deps.sleep(waitMs(error, failures), stopping.signal)
      }
    }
  }

  async function ingestBatch(batch: readonly unknown[]): Promise<void> {
    await deps.ingest(batch)
    const last = Math.max(...batch.map((update) => asNumber(asRecord(update)['update_id']) ?? -1))
    if (!Number.isSafeInteger(last) || last < 0) {
      throw new ApiError('Telegram answered with updates that have no usable number.', { notExecuted: true })
    }
    // The confirmation was lost; asking at once, again and again, would mend nothing.
    if (last + 1 === offset) await deps.sleep(minBackoffMs, stopping.signal)
    offset = last + 1
  }

  /** An album whose parts are still coming is asked for once more: nothing of it is acknowledged yet. */
  async function fetchUpdates(timeout: number, signal: AbortSignal): Promise<readonly unknown[]> {
    const updates = await fetchOnce(timeout, signal)
    if (!endsInAlbum(updates)) return updates
    await deps.sleep(albumWaitMs, signal)
    const more = await fetchOnce(0, signal)
    return more.length > updates.length ? more : updates
  }

  /** Gives a question up that is answered by nobody, so that a new connection is made. */
  async function fetchOnce(timeout: number, signal: AbortSignal): Promise<readonly unknown[]> {
    const heldMs = timeout * 1_000
    const began = deps.now()
    const call = linkAbortSignal(signal)
    const answer = deps.getUpdates({ offset, timeout }, call.signal)
    try {
      const marginForCallMs = Math.min(maxMarginMs, marginMs * 2 ** Math.max(0, unanswered - 1))
      const late = deps.sleep(heldMs + marginForCallMs, call.signal).then(() => undefined)
      const updates = await Promise.race([answer, late])
      const tookMs = deps.now() - began
      if (signal.aborted) throw new ApiError('The question was called off.', { notExecuted: true })
      if (updates === undefined) {
        unanswered += 1
        throw new ApiError('Telegram does not answer.', { notExecuted: false })
      }
      if (!Array.isArray(updates)) {
        throw new ApiError('Telegram answered with something else than updates.', { notExecuted: true })
      }
      unanswered = 0
      if (tookMs >= heldMs) marginMs = Math.min(maxMarginMs, Math.max(minMarginMs, 2 * (tookMs - heldMs)))
      deps.received()
      return updates
    } finally {
      call.release()
      call.abort()
      // A question that was given up fails later, when nobody waits for it any more.
      answer.catch(() => undefined)
    }
  }

  function waitMs(error: unknown, failures: number): number {
    const told = error instanceof ApiError ? error.details.retryAfterMs : undefined
    return told ?? backoffMs(failures, minBackoffMs, maxBackoffMs, deps.random)
  }
}

/** What is told of a trouble, from its first failure until it is over. */
function createHealthReporter(health: PollingDeps['health']) {
  let reported: { readonly kind: string; readonly reason: string } | undefined
  return {
    /** A network that is away fails in changing words: those of its first failure stand for all. */
    tell(error: unknown): void {
      const kind = failureKindOf(error)
      if (reported?.kind !== kind) reported = { kind, reason: reasonOf(error) }
      health('degraded', reported.reason)
    },
    over(): void {
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

/** The network, or Telegram's own trouble. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true
  const { code } = error.details
  return code === undefined || code >= 500 || code === 429
}

/** The same for the same trouble, so that it is told once. */
function failureKindOf(error: unknown): string {
  return error instanceof ApiError && error.details.code === undefined ? 'unreachable' : reasonOf(error)
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiError)) return `messages cannot be stored: ${messageOf(error)}`
  if (isUnauthorised(error)) return 'Telegram refuses the token; check it with @BotFather'
  if (!isConflict(error)) return error.message
  if (error.matches(/webhook is active/)) {
    return 'a webhook is set for this bot, so nothing can be asked for; set mode: webhook, or remove it (how-to/connect-telegram)'
  }
  return 'another program asks for the messages of this bot; stop it, or give this gateway a bot of its own'
}
