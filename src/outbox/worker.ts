/**
 * Delivers the open rows of one chat, strictly in their order: a row that must wait delays the rows behind it. Files that
 * are sent together are one claim.
 */
import { messageOf } from '../lib/errors.ts'
import { backoffMs } from '../lib/timers.ts'
import type { AlbumResult, SendResult } from '../message/outbound.ts'
import type { Transaction } from '../store/query.ts'
import { type Claim, type CountGroup, claimWithAlbum, countAlbumFiles, isAlbum } from './albums.ts'
import { attemptAlbum, toAlbumResults } from './attempt-album.ts'
import { type AttemptContext, attemptDelivery, toDeliveryResult, toUnclaimedResult } from './attempt-delivery.ts'
import { type OutboxContext, toFinishedMessage, toSentMessage } from './context.ts'
import { markDeadTarget } from './dead-targets.ts'
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
  /** Set when rows may have been added since the worker last read its rows. */
  rowsAdded: boolean
  /** Called when the worker takes a row that the transaction of its reply has claimed. */
  onClaimed(rowId: number): void
  /** Waits for `ms`, or until woken when it is omitted. Resolves early when woken or stopped. */
  wait(ms?: number): Promise<void>
  /** Waits until the chat may be called. `undefined` when woken or stopped before. */
  acquirePermit(): Promise<Permit | undefined>
  /** Called at the end, before the permit is released: the chat has no worker any more, so a draft may begin. */
  onStopped(): void
}

interface CompletedAttempt {
  readonly rows: Claim
  /** One for each row. */
  readonly results: readonly DeliveryResult[]
  /** What the adapter threw. */
  readonly thrown?: unknown
}

/** The progress of the work on a chat. */
interface WorkerState {
  /** Kept from one row to the next, so that no call with a lower priority comes between. */
  permit: Permit | undefined
  /** The attempt whose result is not stored yet. */
  unstored: CompletedAttempt | undefined
  /** Consecutive failures of the store. */
  storeFailures: number
  /** The last failure that was logged as a warning, so that an outage produces one warning instead of hundreds. */
  lastReported: { readonly id: number; readonly state: DeliveryResult['state'] } | undefined
}

/** Resolves when the chat has no open row left, or at a stop. `claimed`: a row that was claimed before. */
export async function runWorker(context: OutboxContext, worker: Worker, claimed: OutboxRow | undefined): Promise<void> {
  const { chat } = worker
  const state: WorkerState = {
    permit: context.rateLimiter.tryAcquire(chat, 'final'),
    unstored: undefined,
    storeFailures: 0,
    lastReported: undefined,
  }
  try {
    if (claimed !== undefined) state.unstored = await deliver(context, chat, [claimed], state.permit)
    // Rows may have been added after the last query.
    while ((await runStep(context, worker, state)) || (worker.rowsAdded && !context.drainSignal.aborted));
  } finally {
    worker.onStopped()
    releasePermit(state)
  }
}

/** Lets other calls of the chat go first. */
function releasePermit(state: WorkerState): void {
  state.permit?.release()
  state.permit = undefined
}

/** Returns false when there is nothing left to do. */
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
    // A row that waits for the end of a rate limit queues for a permit, because replies have the highest priority there.
    if (!worker.rowsAdded && next.waitMs > context.rateLimiter.throttledMs(worker.chat)) await worker.wait(next.waitMs)
    return true
  }
  worker.onClaimed(next[0].id)
  state.unstored = await deliver(context, worker.chat, next, state.permit)
  return true
}

/** Makes one attempt for claimed rows. Never throws. */
async function deliver(
  context: OutboxContext,
  chat: Chat,
  rows: Claim,
  permit: Permit | undefined,
): Promise<CompletedAttempt> {
  const sender = context.availableSender(chat)
  // The platform may have limited the account while the claim was being stored.
  if (sender === undefined || permit?.mayContinue() !== true) {
    return { rows, results: rows.map((row) => ({ ...toUnclaimedResult(row), due_at: context.clock() })) }
  }
  context.failpoint?.('outbox:claimed')
  const { max_tries: maxTries, max_backoff: maxBackoff, max_attachment_mb: maxMb } = context.settings().outbox
  const rules = { maxTries, maxBackoffMs: maxBackoff * 1_000, random: context.random }
  const attemptContext: AttemptContext = {
    sender,
    limits: context.limits(chat),
    abortSignal: context.abortSignal,
    attachmentLimits: { policy: context.attachmentPolicy, maxBytes: maxMb * bytesPerMb },
  }
  const [row] = rows
  if (row.album !== null && isAlbum(rows)) {
    const attempt = await attemptAlbum(rows, attemptContext)
    const now = recordResult(context, chat, permit, attempt.result)
    return { rows, results: toAlbumResults(rows, attempt, now, rules), thrown: attempt.thrown }
  }
  const attempt = await attemptDelivery(row, attemptContext)
  const now = recordResult(context, chat, permit, attempt.result)
  return { rows, results: [toDeliveryResult(row, attempt, now, rules)], thrown: attempt.thrown }
}

/** Returns the time of the result. */
function recordResult(context: OutboxContext, chat: Chat, permit: Permit, result: SendResult | AlbumResult): number {
  if (result.success) context.failpoint?.('outbox:accepted')
  else if (result.problem === 'unauthorised') context.block(chat)
  const now = context.clock()
  permit.record(result, now)
  return now
}

/** `failed`: the store has failed. */
type NextStep = 'done' | 'failed' | { readonly waitMs: number } | Claim

/**
 * Stores the results of the last attempt and claims the next rows, in one transaction. After `failed` it must be repeated
 * until it succeeds: the platform has the message, so losing the result would send it twice.
 */
async function storeAndClaimNext(context: OutboxContext, { chat }: Worker, state: WorkerState): Promise<NextStep> {
  const { unstored, permit } = state
  const now = context.clock()
  const mayClaim = permit !== undefined && context.availableSender(chat) !== undefined
  const countGroup = (rows: Claim) => countGroupOf(context, chat, rows)
  try {
    const next = await context.store.run(() => storeAndClaim(chat, unstored?.results ?? [], now, mayClaim, countGroup))
    if (unstored !== undefined) {
      context.failpoint?.('outbox:settled')
      logAttempt(context, state, unstored, now)
    }
    return next
  } catch (error) {
    context.log.error(
      { event: 'outbox.store_failed', ...chat, err: error },
      `the outbox waits for its database: ${messageOf(error)}`,
    )
    return 'failed'
  }
}

/** An exception must not fail the transaction, which is repeated until it succeeds. */
function countGroupOf(context: OutboxContext, chat: Chat, rows: Claim): number {
  const sender = context.availableSender(chat)
  if (sender?.albums === undefined || sender.sendsAttachments !== true) return 1
  try {
    return countAlbumFiles(sender.albums, rows)
  } catch (error) {
    context.log.error(
      { event: 'outbox.album_failed', ...chat, err: error },
      `files are sent one by one: ${messageOf(error)}`,
    )
    return 1
  }
}

function* storeAndClaim(
  chat: Chat,
  results: readonly DeliveryResult[],
  now: number,
  mayClaim: boolean,
  countGroup: CountGroup,
): Transaction<Exclude<NextStep, 'failed'>> {
  for (const result of results) {
    yield* storeDeliveryResult(result, now)
    if (result.chatGone === true) yield* markDeadTarget(chat, result.error ?? '', now)
  }
  const head = yield* findHeadOfChat(chat)
  if (head === undefined) return 'done'
  // Claimed by the transaction of the reply, or by the result of an edit that became a send.
  if (head.state === 'sending') return [head]
  const waitMs = Math.max(0, head.due_at - now)
  if (waitMs > 0 || !mayClaim) return { waitMs }
  if (head.attachment !== null) return yield* claimWithAlbum(head, countGroup, now)
  yield* claimRow(head.id, now)
  return [head]
}

function logAttempt(
  context: OutboxContext,
  worker: WorkerState,
  { rows, results, thrown }: CompletedAttempt,
  now: number,
): void {
  const [first] = results
  if (first?.album !== undefined) {
    const [{ id, key, session_key, turn_id }] = rows
    const fields = { outbox: id, key, session: session_key, turn: turn_id, files: rows.length }
    context.log.warn(
      { event: 'outbox.album_split', ...fields, err: thrown, reason: first.error },
      'album not sent; its files are sent one by one',
    )
    return
  }
  for (const [index, row] of rows.entries()) {
    const result = results[index]
    if (result !== undefined) logResult(context, worker, row, result, thrown, now)
  }
}

/** Logs one line per row: a warning when the state of the row has changed, otherwise at level debug. */
function logResult(
  context: OutboxContext,
  worker: WorkerState,
  row: OutboxRow,
  result: DeliveryResult,
  thrown: unknown,
  now: number,
): void {
  const { id, state, tries, error, due_at, replacementText } = result
  const fields = { outbox: row.id, key: row.key, session: row.session_key, turn: row.turn_id }
  if (state === 'sent') {
    context.log.info({ event: 'outbox.delivered', ...fields }, 'reply delivered')
    const message = toSentMessage(row, result.platform_id)
    if (message !== undefined) context.onFinished?.(message)
  } else if (state === 'dead') {
    context.log.error(
      { event: 'outbox.dead_letter', ...fields, tries, reason: error },
      'reply is a dead letter; `hermes outbox list` shows it',
    )
    context.onFinished?.({ ...toFinishedMessage(row), error: error ?? '' })
  } else if (replacementText !== undefined) {
    context.log.warn(
      { event: 'outbox.attachment_rejected', ...fields, reason: error },
      'file not sent; the chat gets a line that says so',
    )
  } else if (state === 'sending') {
    context.log.info(
      { event: 'outbox.draft_missing', ...fields },
      'the draft was removed; the reply is sent as a new message',
    )
  } else {
    // A row without an error was not tried.
    const isNew = error !== null && (worker.lastReported?.id !== id || worker.lastReported.state !== state)
    if (isNew) worker.lastReported = { id, state }
    context.log[isNew ? 'warn' : 'debug'](
      { event: 'outbox.retry_scheduled', ...fields, state, tries, err: thrown, reason: error, waitMs: due_at - now },
      'reply will be sent again',
    )
  }
}
