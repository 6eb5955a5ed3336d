/**
 * Works through the open rows of one chat, strictly in their order: a row that must wait holds back those behind it.
 */
import { messageOf } from '../lib/errors.ts'
import { backoffMs } from '../lib/wait.ts'
import type { UseCase } from '../store/query.ts'
import { attemptRow } from './attempt.ts'
import type { Slot } from './budget.ts'
import { bytesPerMb } from './outgoing-file.ts'
import { type Chat, claimRow, headOfChat, type OutboxRow, type Settlement, settleRow } from './queries.ts'
import { type Room, sentMessage, settledMessage } from './room.ts'
import { releaseOf, settlementOf } from './settle.ts'

export interface Worker {
  readonly chat: Chat
  /** Set when rows may have been added since the worker looked last. */
  again: boolean
  /** The worker has come upon a row that was claimed by the transaction that stored it. */
  taken(rowId: number): void
  /** Waits `ms`, or without them until woken. Resolves early when woken or stopped. */
  wait(ms?: number): Promise<void>
  /** Waits until the chat may be called. Undefined when woken or stopped before. */
  turn(): Promise<Slot | undefined>
  /** The chat has no worker from here on, so that a draft may begin. */
  gone(): void
}

interface Delivered {
  readonly row: OutboxRow
  readonly settlement: Settlement
  /** What the adapter threw. */
  readonly thrown?: unknown
}

/** Where the work on a chat stands. */
interface Work {
  /** Kept from one row to the next, so that nothing less important comes between. */
  slot: Slot | undefined
  /** What is not on disk yet. */
  delivered: Delivered | undefined
  /** How often in a row the store did not answer. */
  failures: number
  /** The row whose failure was told, and what it became: an outage of an hour is one line of the log, not hundreds. */
  told: { readonly id: number; readonly state: Settlement['state'] } | undefined
}

/** Resolves when the chat has no open row left, or when a stop is on. `handed` is a row that is claimed already. */
export async function workChat(room: Room, worker: Worker, handed: OutboxRow | undefined): Promise<void> {
  const { chat } = worker
  const work: Work = { slot: room.budget.take(chat, 'final'), delivered: undefined, failures: 0, told: undefined }
  try {
    if (handed !== undefined) work.delivered = await deliver(room, chat, handed, work.slot)
    // Someone may have called for more after the last look.
    while ((await step(room, worker, work)) || (worker.again && !room.quit.aborted));
  } finally {
    worker.gone()
    leave(work)
  }
}

/** The chat is free for others. */
function leave(work: Work): void {
  work.slot?.free()
  work.slot = undefined
}

/** False when there is nothing left to do. */
async function step(room: Room, worker: Worker, work: Work): Promise<boolean> {
  const { chat } = worker
  if (work.delivered === undefined && room.open(chat) === undefined) {
    leave(work)
    if (room.quit.aborted) return false
    await worker.wait()
    return true
  }
  if (work.slot?.goesOn() === false) leave(work)
  work.slot ??= room.budget.take(chat, 'final')
  if (work.slot === undefined && work.delivered === undefined) {
    work.slot = await worker.turn()
    return true
  }
  worker.again = false
  const next = await advance(room, worker, work)
  if (next !== 'failed') {
    work.failures = 0
    work.delivered = undefined
    return await follow(room, worker, work, next)
  }
  leave(work)
  if (room.quit.aborted) return false
  work.failures += 1
  await worker.wait(backoffMs(work.failures, 1_000, 30_000, room.random))
  return true
}

async function follow(room: Room, worker: Worker, work: Work, next: Exclude<Next, 'failed'>): Promise<boolean> {
  if (next === 'done') return worker.again
  if ('waitMs' in next) {
    leave(work)
    // What waits for the end of a limit waits in line: at that moment answers go before anything else.
    if (!worker.again && next.waitMs > room.budget.heldMs(worker.chat)) await worker.wait(next.waitMs)
    return true
  }
  worker.taken(next.id)
  work.delivered = await deliver(room, worker.chat, next, work.slot)
  return true
}

/** Calls the platform for a claimed row. Never throws. */
async function deliver(room: Room, chat: Chat, row: OutboxRow, slot: Slot | undefined): Promise<Delivered> {
  const sender = room.open(chat)
  // The platform may have limited the account while the claim went to the disk.
  if (sender === undefined || slot?.goesOn() !== true) {
    return { row, settlement: { ...releaseOf(row), due_at: room.clock() } }
  }
  room.probe('outbox:claimed')
  const { max_tries: maxTries, max_backoff: maxBackoff, max_attachment_mb: maxMb } = room.settings().outbox
  const attempt = await attemptRow(row, {
    sender,
    limits: room.limits(chat),
    halt: room.halt,
    files: { rules: room.files, maxBytes: maxMb * bytesPerMb },
  })
  const { result } = attempt
  if (result.success) room.probe('outbox:accepted')
  else if (result.problem === 'unauthorised') room.block(chat)
  const now = room.clock()
  slot.heard(result, now)
  const rules = { maxTries, maxBackoffMs: maxBackoff * 1_000, random: room.random }
  return { row, settlement: settlementOf(row, attempt, now, rules), thrown: attempt.thrown }
}

/** `failed`: the store did not answer. */
type Next = 'done' | 'failed' | { readonly waitMs: number } | OutboxRow

/**
 * Stores what became of the last row and claims the next, in one transaction. After `failed` it must be asked again
 * until it answers: the platform has the message already, so forgetting the receipt would send it twice.
 */
async function advance(room: Room, { chat }: Worker, work: Work): Promise<Next> {
  const { delivered, slot } = work
  const now = room.clock()
  const mayClaim = slot !== undefined && room.open(chat) !== undefined
  try {
    const next = await room.store.run(() => settleAndClaim(chat, delivered?.settlement, now, mayClaim))
    if (delivered !== undefined) {
      room.probe('outbox:settled')
      report(room, work, delivered, now)
    }
    return next
  } catch (error) {
    room.log.error({ error, ...chat }, `the outbox waits for its database: ${messageOf(error)}`)
    return 'failed'
  }
}

function* settleAndClaim(
  chat: Chat,
  settlement: Settlement | undefined,
  now: number,
  mayClaim: boolean,
): UseCase<Exclude<Next, 'failed'>> {
  if (settlement !== undefined) yield* settleRow(settlement, now)
  const head = yield* headOfChat(chat)
  if (head === undefined) return 'done'
  // Stored as claimed by the reply's own transaction, or by the settlement of an edit that became a send.
  if (head.state === 'sending') return head
  const waitMs = Math.max(0, head.due_at - now)
  if (waitMs > 0 || !mayClaim) return { waitMs }
  yield* claimRow(head.id, now)
  return head
}

/** One line per try: a warning where it changed how the row stands, else for those who look closely. */
function report(room: Room, work: Work, { row, settlement, thrown }: Delivered, now: number): void {
  const { id, state, tries, error, due_at, instead } = settlement
  const fields = { outbox: row.id, key: row.key, session: row.session_key, turn: row.turn_id }
  if (state === 'sent') {
    room.log.info(fields, 'reply delivered')
    const message = sentMessage(row, settlement.platform_id)
    if (message !== undefined) room.onSettled?.(message)
  } else if (state === 'dead') {
    room.log.error({ ...fields, tries, error }, 'reply given up; `hermes outbox list` shows it')
    room.onSettled?.({ ...settledMessage(row), error: error ?? '' })
  } else if (instead !== undefined)
    room.log.warn({ ...fields, error }, 'a file is not sent; a line says so in its place')
  else if (state === 'sending') room.log.info(fields, 'the draft is gone; the reply is sent as a new message')
  else {
    // Without an error it was not tried.
    const isNews = error !== null && (work.told?.id !== id || work.told.state !== state)
    if (isNews) work.told = { id, state }
    const cause = thrown ?? error
    room.log[isNews ? 'warn' : 'debug'](
      { ...fields, state, tries, error: cause, waitMs: due_at - now },
      'reply waits to be sent again',
    )
  }
}
