/**
 * Works through the open rows of one chat, strictly in their order: a row that must wait holds back those behind it.
 */
import { messageOf } from '../lib/errors.ts'
import { backoffMs } from '../lib/wait.ts'
import type { UseCase } from '../store/query.ts'
import { attemptRow } from './attempt.ts'
import { type Chat, claimRow, headOfChat, type OutboxRow, type Settlement, settleRow } from './queries.ts'
import type { Room } from './room.ts'
import { releaseOf, settlementOf } from './settle.ts'

export interface Worker {
  readonly chat: Chat
  /** Set when rows may have been added since the worker looked last. */
  again: boolean
  /** The worker has come upon a row that was claimed by the transaction that stored it. */
  taken(rowId: number): void
  /** Waits `ms`, or without them until woken. Resolves early when woken or stopped. */
  wait(ms?: number): Promise<void>
}

interface Delivered {
  readonly row: OutboxRow
  readonly settlement: Settlement
}

/** Resolves when the chat has no open row left, or when a stop is on. `handed` is a row that is claimed already. */
export async function workChat(room: Room, worker: Worker, handed: OutboxRow | undefined): Promise<void> {
  let delivered = handed === undefined ? undefined : await deliver(room, worker.chat, handed)
  for (;;) {
    if (delivered === undefined && room.open(worker.chat) === undefined) {
      if (room.quit.aborted) return
      await worker.wait()
      continue
    }
    worker.again = false
    const next = await advance(room, worker, delivered)
    delivered = undefined
    if (next === 'done') {
      if (!worker.again) return
    } else if ('waitMs' in next) {
      if (!worker.again && next.waitMs > 0) await worker.wait(next.waitMs)
    } else {
      worker.taken(next.id)
      delivered = await deliver(room, worker.chat, next)
    }
  }
}

/** Calls the platform for a claimed row. Never throws. */
async function deliver(room: Room, chat: Chat, row: OutboxRow): Promise<Delivered> {
  const sender = room.open(chat)
  const heldMs = room.holdMs(chat)
  if (sender === undefined || heldMs > 0) {
    return { row, settlement: { ...releaseOf(row), due_at: room.clock() + heldMs } }
  }
  room.probe('outbox:claimed')
  const attempt = await attemptRow(row, { sender, limits: room.limits(chat), halt: room.halt, log: room.log })
  const { result } = attempt
  if (result.success) room.probe('outbox:accepted')
  else if (result.problem === 'unauthorised') room.block(chat)
  const { max_tries: maxTries, max_backoff: maxBackoff } = room.settings().outbox
  const rules = { maxTries, maxBackoffMs: maxBackoff * 1_000, random: room.random }
  const settlement = settlementOf(row, attempt, room.clock(), rules)
  if (!result.success && result.problem === 'rate-limited') room.hold(chat, settlement.due_at)
  return { row, settlement }
}

type Next = 'done' | { readonly waitMs: number } | OutboxRow

/**
 * Stores what became of the last row and claims the next, in one transaction. A store that fails is asked again until
 * it answers: the platform has the message already, so forgetting the receipt would send it twice.
 */
async function advance(room: Room, worker: Worker, delivered: Delivered | undefined): Promise<Next> {
  for (let attempt = 1; ; attempt++) {
    const now = room.clock()
    const mayClaim = room.open(worker.chat) !== undefined
    const heldMs = room.holdMs(worker.chat)
    try {
      const next = await room.store.run(() => step(worker.chat, delivered?.settlement, now, mayClaim, heldMs))
      if (delivered !== undefined) {
        room.probe('outbox:settled')
        report(room, delivered, now)
      }
      return next
    } catch (error) {
      room.log.error({ error, ...worker.chat }, `the outbox waits for its database: ${messageOf(error)}`)
      if (room.quit.aborted) return 'done'
      await worker.wait(backoffMs(attempt, 1_000, 30_000, room.random))
    }
  }
}

function* step(
  chat: Chat,
  settlement: Settlement | undefined,
  now: number,
  mayClaim: boolean,
  heldMs: number,
): UseCase<Next> {
  if (settlement !== undefined) yield* settleRow(settlement, now)
  const head = yield* headOfChat(chat)
  if (head === undefined) return 'done'
  // Stored as claimed by the reply's own transaction, or by the settlement of an edit that became a send.
  if (head.state === 'sending') return head
  const waitMs = Math.max(0, heldMs, head.due_at - now)
  if (waitMs > 0 || !mayClaim) return { waitMs }
  yield* claimRow(head.id, now)
  return head
}

/** One line per change of state. */
function report(room: Room, { row, settlement }: Delivered, now: number): void {
  const { state, tries, error, due_at } = settlement
  const fields = { outbox: row.id, key: row.key, session: row.session_key, turn: row.turn_id }
  if (state === 'sent') room.log.info(fields, 'reply delivered')
  else if (state === 'dead')
    room.log.error({ ...fields, tries, error }, 'reply given up; `hermes outbox list` shows it')
  else if (state === 'sending') room.log.info(fields, 'the draft is gone; the reply is sent as a new message')
  else room.log.warn({ ...fields, state, tries, error, waitMs: due_at - now }, 'reply waits to be sent again')
}
