/**
 * Works through the open rows of one chat, strictly in their order: a row that must wait holds back those behind it.
 */
import { messageOf } from '../lib/errors.ts'
import { backoffMs } from '../lib/timers.ts'
import type { Transaction } from '../store/query.ts'
import { attemptDelivery } from './attempt-delivery.ts'
import { type OutboxContext, toFinishedMessage, toSentMessage } from './context.ts'
import { toDeliveryResult, toUnclaimedResult } from './delivery-result.ts'
import { bytesPerMb } from './prepare-attachment.ts'
import {
  type Chat,
  claimRow,
  type DeliveryResult,
  findHeadOfChat,
  type OutboxRow,
  storeDeliveryResult,
} from './queries.ts'
import type { Permit } from './rate-limiter.ts'

export interface Worker {
  readonly chat: Chat
  /** Set when rows may have been added since the worker looked last. */
  rowsAdded: boolean
  /** The worker has come upon a row that was claimed by the transaction that stored it. */
  onClaimed(rowId: number): void
  /** Waits `ms`, or without them until woken. Resolves early when woken or stopped. */
  wait(ms?: number): Promise<void>
  /** Waits until the chat may be called. Undefined when woken or stopped before. */
  acquirePermit(): Promise<Permit | undefined>
  /** The chat has no worker from here on, so that a draft may begin. */
  onStopped(): void
}

interface CompletedAttempt {
  readonly row: OutboxRow
  readonly result: DeliveryResult
  /** What the adapter threw. */
  readonly thrown?: unknown
}

/** Where the work on a chat stands. */
interface WorkerState {
  /** Kept from one row to the next, so that nothing less important comes between. */
  permit: Permit | undefined
  /** What is not on disk yet. */
  unstored: CompletedAttempt | undefined
  /** How often in a row the store did not answer. */
  storeFailures: number
  /** The row whose failure was told, and what it became: an outage of an hour is one line of the log, not hundreds. */
  lastReported: { readonly id: number; readonly state: DeliveryResult['state'] } | undefined
}

/** Resolves when the chat has no open row left, or when a stop is on. `handed` is a row that is claimed already. */
export async function runWorker(context: OutboxContext, worker: Worker, claimed: OutboxRow | undefined): Promise<void> {
  const { chat } = worker
  const state: WorkerState = {
    permit: context.rateLimiter.tryAcquire(chat, 'final'),
    unstored: undefined,
    storeFailures: 0,
    lastReported: undefined,
  }
  try {
    if (claimed !== undefined) state.unstored = await deliver(context, chat, claimed, state.permit)
    // Someone may have called for more after the last look.
    while ((await runStep(context, worker, state)) || (worker.rowsAdded && !context.drainSignal.aborted));
  } finally {
    worker.onStopped()
    releasePermit(state)
  }
}

/** The chat is free for others. */
function releasePermit(state: WorkerState): void {
  state.permit?.release()
  state.permit = undefined
}

/** False when there is nothing left to do. */
async function runStep(context: OutboxContext, worker: Worker, state: WorkerState): Promise<boolean> {
  const { chat } = worker
  if (state.unstored === undefined && context.availableSender(chat) === undefined) {
    releasePermit(state)
    if (context.drainSignal.aborted) return false
    await worker.wait()
    return true
  }
  if (state.permit?.mayContinue() === false) releasePermit(state)
  state.permit ??= context.rateLimiter.tryAcquire(chat, 'final')
  if (state.permit === undefined && state.unstored === undefined) {
    state.permit = await worker.acquirePermit()
    return true
  }
  worker.rowsAdded = false
  const next = await storeAndClaimNext(context, worker, state)
  if (next !== 'failed') {
    state.storeFailures = 0
    state.unstored = undefined
    return await handleNext(context, worker, state, next)
  }
  releasePermit(state)
  if (context.drainSignal.aborted) return false
  state.storeFailures += 1
  await worker.wait(backoffMs(state.storeFailures, 1_000, 30_000, context.random))
  return true
}

async function handleNext(
  context: OutboxContext,
  worker: Worker,
  state: WorkerState,
  next: Exclude<NextStep, 'failed'>,
): Promise<boolean> {
  if (next === 'done') return worker.rowsAdded
  if ('waitMs' in next) {
    releasePermit(state)
    // What waits for the end of a limit waits in line: at that moment answers go before anything else.
    if (!worker.rowsAdded && next.waitMs > context.rateLimiter.throttledMs(worker.chat)) await worker.wait(next.waitMs)
    return true
  }
  worker.onClaimed(next.id)
  state.unstored = await deliver(context, worker.chat, next, state.permit)
  return true
}

/** Calls the platform for a claimed row. Never throws. */
async function deliver(
  context: OutboxContext,
  chat: Chat,
  row: OutboxRow,
  permit: Permit | undefined,
): Promise<CompletedAttempt> {
  const sender = context.availableSender(chat)
  // The platform may have limited the account while the claim went to the disk.
  if (sender === undefined || permit?.mayContinue() !== true) {
    return { row, result: { ...toUnclaimedResult(row), due_at: context.clock() } }
  }
  context.failpoint('outbox:claimed')
  const { max_tries: maxTries, max_backoff: maxBackoff, max_attachment_mb: maxMb } = context.settings().outbox
  const attempt = await attemptDelivery(row, {
    sender,
    limits: context.limits(chat),
    abortSignal: context.abortSignal,
    attachmentLimits: { policy: context.attachmentPolicy, maxBytes: maxMb * bytesPerMb },
  })
  const { result } = attempt
  if (result.success) context.failpoint('outbox:accepted')
  else if (result.problem === 'unauthorised') context.block(chat)
  const now = context.clock()
  permit.record(result, now)
  const rules = { maxTries, maxBackoffMs: maxBackoff * 1_000, random: context.random }
  return { row, result: toDeliveryResult(row, attempt, now, rules), thrown: attempt.thrown }
}

/** `failed`: the store did not answer. */
type NextStep = 'done' | 'failed' | { readonly waitMs: number } | OutboxRow

/**
 * Stores what became of the last row and claims the next, in one transaction. After `failed` it must be asked again
 * until it answers: the platform has the message already, so forgetting the receipt would send it twice.
 */
async function storeAndClaimNext(context: OutboxContext, { chat }: Worker, state: WorkerState): Promise<NextStep> {
  const { unstored, permit } = state
  const now = context.clock()
  const mayClaim = permit !== undefined && context.availableSender(chat) !== undefined
  try {
    const next = await context.store.run(() => storeAndClaim(chat, unstored?.result, now, mayClaim))
    if (unstored !== undefined) {
      context.failpoint('outbox:settled')
      logResult(context, state, unstored, now)
    }
    return next
  } catch (error) {
    context.log.error({ error, ...chat }, `the outbox waits for its database: ${messageOf(error)}`)
    return 'failed'
  }
}

function* storeAndClaim(
  chat: Chat,
  result: DeliveryResult | undefined,
  now: number,
  mayClaim: boolean,
): Transaction<Exclude<NextStep, 'failed'>> {
  if (result !== undefined) yield* storeDeliveryResult(result, now)
  const head = yield* findHeadOfChat(chat)
  if (head === undefined) return 'done'
  // Stored as claimed by the reply's own transaction, or by the settlement of an edit that became a send.
  if (head.state === 'sending') return head
  const waitMs = Math.max(0, head.due_at - now)
  if (waitMs > 0 || !mayClaim) return { waitMs }
  yield* claimRow(head.id, now)
  return head
}

/** One line per try: a warning where it changed how the row stands, else for those who look closely. */
function logResult(
  context: OutboxContext,
  work: WorkerState,
  { row, result, thrown }: CompletedAttempt,
  now: number,
): void {
  const { id, state, tries, error, due_at, replacementText } = result
  const fields = { outbox: row.id, key: row.key, session: row.session_key, turn: row.turn_id }
  if (state === 'sent') {
    context.log.info(fields, 'reply delivered')
    const message = toSentMessage(row, result.platform_id)
    if (message !== undefined) context.onFinished?.(message)
  } else if (state === 'dead') {
    context.log.error({ ...fields, tries, error }, 'reply given up; `hermes outbox list` shows it')
    context.onFinished?.({ ...toFinishedMessage(row), error: error ?? '' })
  } else if (replacementText !== undefined)
    context.log.warn({ ...fields, error }, 'a file is not sent; a line says so in its place')
  else if (state === 'sending') context.log.info(fields, 'the draft is gone; the reply is sent as a new message')
  else {
    // Without an error it was not tried.
    const isNews = error !== null && (work.lastReported?.id !== id || work.lastReported.state !== state)
    if (isNews) work.lastReported = { id, state }
    const cause = thrown ?? error
    context.log[isNews ? 'warn' : 'debug'](
      { ...fields, state, tries, error: cause, waitMs: due_at - now },
      'reply waits to be sent again',
    )
  }
}
