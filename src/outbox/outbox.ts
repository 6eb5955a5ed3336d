/**
 * The outbox: replies are on disk before they are sent, go out in the order of their chat, and are neither lost nor
 * repeated silently. Live drafts and typing are its fleeting half.
 */
import { messageOf } from '../lib/errors.ts'
import { pause as realPause, within } from '../lib/wait.ts'
import type { SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { UseCase } from '../store/query.ts'
import { type DeadLetter, dropDead, listDead, retryDead } from './dead-letters.ts'
import { createDelivery } from './delivery.ts'
import type { Draft, DraftAddress, DraftOptions } from './draft.ts'
import { readDrafts } from './draft-rows.ts'
import { createDrafts } from './drafts.ts'
import { callPaced, type PacedCall } from './paced.ts'
import { hurryRows, recoverRows, sweepOutbox } from './queries.ts'
import { type PreparedReply, prepareReply, type Reply } from './reply.ts'
import { createRoom, type OutboxDeps, settledMessage } from './room.ts'
import { keepTyping } from './typing.ts'

export type { DeadLetter } from './dead-letters.ts'
export type { Draft, DraftAddress, DraftOptions } from './draft.ts'
export type { PreparedReply, Reply } from './reply.ts'
export type { Sender } from './sender.ts'

export interface Outbox {
  /**
   * Cuts a reply into messages. The caller yields `write` in the transaction that ends its work, then calls `committed`
   * at once, or `abandoned` when the transaction failed. Throws nothing.
   */
  prepare(reply: Reply): PreparedReply
  /**
   * Shows a reply while it grows, once earlier replies of the chat are out. Null when streaming is off, or the platform
   * is away or cannot edit, unless people have seen a draft of this turn before: then it only tells the address.
   */
  openDraft(options: DraftOptions): Draft | null
  /** Where the draft of a turn stands, also from before a restart; null when there is none. Known after `recover`. */
  addressOf(turnId: string): DraftAddress | null
  /** Shows that the agent is at work until the signal aborts. Failures are ignored. */
  typing(target: Target, signal: AbortSignal): void
  /**
   * Runs a call of an adapter's own when it is its turn in the budget of the chat and the account. What the platform
   * says of limits is remembered, nothing is retried. Rejects when the signal aborts or the gateway stops before there
   * is an answer, after 15 s, and as the call does. Not from within `send` or `edit`: those hold the chat already.
   */
  paced(target: Target, signal: AbortSignal, call: PacedCall): Promise<SendResult>
  /** After a start: settles what a crash left in flight and delivers what waits. Rejects `store/…`. */
  recover(): Promise<{ openChats: number }>
  /** An account has connected (again), or works again: what waits for it is sent. */
  platformConnected(platform: string, account: string): void
  /** Replies given up, the newest first. Rejects `store/…`. */
  list(limit?: number): Promise<readonly DeadLetter[]>
  /** Sends a dead letter after all; false when there is none of this id. Rejects `store/…`. */
  retry(id: number): Promise<boolean>
  /** Forgets a dead letter; false when there is none of this id. Rejects `store/…`. */
  drop(id: number): Promise<boolean>
  /** Retention, as a use case: forgets finished rows older than a time in ms, `limit` at most; returns how many. */
  sweep(olderThan: number, limit: number): UseCase<number>
  /** Resolves when nothing can be done right now: all is sent, or waits for a time or for its platform. */
  settled(): Promise<void>
  /**
   * Takes no new work and lets calls in flight end, `withinMs` at most; what is left is found at the next start.
   * May be called twice.
   */
  stop(withinMs: number): Promise<void>
}

/** A platform that comes and goes must not use up the tries of a reply: waits as short as this stay as they are. */
const shortWaitMs = 5_000
/** How long calls may take to end after their signal has been aborted. */
const graceMs = 1_000

type Given = Omit<OutboxDeps, 'probe' | 'pause'> & Partial<Pick<OutboxDeps, 'probe' | 'pause'>>

export function createOutbox(given: Given): Outbox {
  const quit = new AbortController()
  const halt = new AbortController()
  const deps = { ...given, pause: given.pause ?? realPause, probe: given.probe ?? (() => undefined) }
  const room = createRoom(deps, quit.signal, halt.signal)
  const delivery = createDelivery(room)
  const drafts = createDrafts(room, delivery.busy)
  const begunAt = room.clock()
  let stopped: Promise<void> | undefined

  async function quiet(withinMs: number): Promise<boolean> {
    const [closed, ended] = await Promise.all([within(drafts.close(), withinMs), delivery.ended(withinMs)])
    return closed.done && ended
  }

  async function end(withinMs: number): Promise<void> {
    quit.abort()
    if (await quiet(withinMs)) return
    halt.abort()
    if (!(await quiet(graceMs))) room.log.warn({}, 'the outbox stops with calls in flight')
  }

  /** What waited for an outage to end goes now, not when its pause is over. Limits still hold: the budget knows them. */
  async function hurried(platform: string, account: string): Promise<void> {
    const now = room.clock()
    const of = { platform, account, from: now + shortWaitMs, since: begunAt }
    try {
      await room.store.run(() => hurryRows(of, now))
    } catch (error) {
      room.log.warn({ error, platform, account }, `replies wait longer than they must: ${messageOf(error)}`)
    }
  }

  return {
    prepare: (reply) => prepareReply(room, delivery, drafts, reply),
    openDraft: (options) => drafts.open(options),
    addressOf: (turnId) => drafts.addressOf(turnId),
    typing: (target, signal) => void keepTyping(room, target, signal),
    paced: (target, signal, call) => callPaced(room, target, signal, call),
    async recover() {
      const now = room.clock()
      const { chats, givenUp, stored } = await room.store.run(function* () {
        const recovered = yield* recoverRows(room.settings().outbox.max_tries, now)
        return { ...recovered, stored: yield* readDrafts() }
      })
      room.probe('outbox:recovering')
      for (const row of givenUp) room.onSettled?.({ ...settledMessage(row), error: row.error ?? '' })
      drafts.restore(stored)
      for (const chat of chats) delivery.start(chat)
      return { openChats: chats.length }
    },
    platformConnected(platform, account) {
      room.unblock(platform, account)
      void hurried(platform, account).finally(() => delivery.wake(platform, account))
    },
    list: (limit = 100) => room.store.run(() => listDead(limit)),
    async retry(id) {
      const now = room.clock()
      const chat = await room.store.run(() => retryDead(id, now))
      if (chat !== undefined) delivery.look(chat)
      return chat !== undefined
    },
    drop(id) {
      const now = room.clock()
      return room.store.run(() => dropDead(id, now))
    },
    sweep: sweepOutbox,
    settled: () => delivery.settled(),
    stop(withinMs) {
      stopped ??= end(withinMs)
      return stopped
    },
  }
}
