/**
 * The outbox: replies are on disk before they are sent, go out in the order of their chat, and are neither lost nor
 * repeated silently. Live drafts and typing are its fleeting half.
 */
import { messageOf } from '../lib/errors.ts'
import { sleep as realPause, withTimeout } from '../lib/timers.ts'
import type { SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { Transaction } from '../store/query.ts'
import { createOutboxContext, type OutboxDeps, toFinishedMessage } from './context.ts'
import { type DeadLetter, dropDeadLetter, listDeadLetters, retryDeadLetter } from './dead-letters.ts'
import { createDelivery } from './delivery.ts'
import type { Draft, DraftAddress, DraftOptions } from './draft.ts'
import { listDrafts } from './draft-queries.ts'
import { createDrafts } from './drafts.ts'
import { expediteRows, pruneOutbox, recoverRows } from './queries.ts'
import { callRateLimited, type RateLimitedCall } from './rate-limited-call.ts'
import { type PreparedReply, prepareReply, type Reply } from './reply.ts'
import { showTyping } from './typing.ts'

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
  draftAddressOf(turnId: string): DraftAddress | null
  /** Shows that the agent is at work until the signal aborts. Failures are ignored. */
  showTyping(target: Target, signal: AbortSignal): void
  /**
   * Runs a call of an adapter's own when it is its turn in the budget of the chat and the account. What the platform
   * says of limits is remembered, nothing is retried. Rejects when the signal aborts or the gateway stops before there
   * is an answer, after 15 s, and as the call does. Not from within `send` or `edit`: those hold the chat already.
   */
  rateLimited(target: Target, signal: AbortSignal, call: RateLimitedCall): Promise<SendResult>
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
  prune(olderThan: number, limit: number): Transaction<number>
  /** Resolves when nothing can be done right now: all is sent, or waits for a time or for its platform. */
  whenIdle(): Promise<void>
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

type OutboxOptions = Omit<OutboxDeps, 'failpoint' | 'sleep'> & Partial<Pick<OutboxDeps, 'failpoint' | 'sleep'>>

export function createOutbox(outboxOptions: OutboxOptions): Outbox {
  const drain = new AbortController()
  const abort = new AbortController()
  const deps = {
    ...outboxOptions,
    sleep: outboxOptions.sleep ?? realPause,
    failpoint: outboxOptions.failpoint ?? (() => undefined),
  }
  const context = createOutboxContext(deps, drain.signal, abort.signal)
  const delivery = createDelivery(context)
  const drafts = createDrafts(context, delivery.isBusy)
  const startedAt = context.clock()
  let stopped: Promise<void> | undefined

  async function waitUntilStopped(withinMs: number): Promise<boolean> {
    const [closed, ended] = await Promise.all([withTimeout(drafts.close(), withinMs), delivery.stop(withinMs)])
    return closed.done && ended
  }

  async function stopDelivery(withinMs: number): Promise<void> {
    drain.abort()
    if (await waitUntilStopped(withinMs)) return
    abort.abort()
    if (!(await waitUntilStopped(graceMs))) context.log.warn({}, 'the outbox stops with calls in flight')
  }

  /** What waited for an outage to end goes now, not when its pause is over. Limits still hold: the budget knows them. */
  async function expedite(platform: string, account: string): Promise<void> {
    const now = context.clock()
    const of = { platform, account, from: now + shortWaitMs, since: startedAt }
    try {
      await context.store.run(() => expediteRows(of, now))
    } catch (error) {
      context.log.warn({ error, platform, account }, `replies wait longer than they must: ${messageOf(error)}`)
    }
  }

  return {
    prepare: (reply) => prepareReply(context, delivery, drafts, reply),
    openDraft: (options) => drafts.open(options),
    draftAddressOf: (turnId) => drafts.addressOf(turnId),
    showTyping: (target, signal) => void showTyping(context, target, signal),
    rateLimited: (target, signal, call) => callRateLimited(context, target, signal, call),
    async recover() {
      const now = context.clock()
      const { chats, givenUp, stored } = await context.store.run(function* () {
        const recovered = yield* recoverRows(context.settings().outbox.max_tries, now)
        return { ...recovered, stored: yield* listDrafts() }
      })
      context.failpoint('outbox:recovering')
      for (const row of givenUp) context.onFinished?.({ ...toFinishedMessage(row), error: row.error ?? '' })
      drafts.restore(stored)
      for (const chat of chats) delivery.start(chat)
      return { openChats: chats.length }
    },
    platformConnected(platform, account) {
      context.unblock(platform, account)
      void expedite(platform, account).finally(() => delivery.wake(platform, account))
    },
    list: (limit = 100) => context.store.run(() => listDeadLetters(limit)),
    async retry(id) {
      const now = context.clock()
      const chat = await context.store.run(() => retryDeadLetter(id, now))
      if (chat !== undefined) delivery.recheck(chat)
      return chat !== undefined
    },
    drop(id) {
      const now = context.clock()
      return context.store.run(() => dropDeadLetter(id, now))
    },
    prune: pruneOutbox,
    whenIdle: () => delivery.whenIdle(),
    stop(withinMs) {
      stopped ??= stopDelivery(withinMs)
      return stopped
    },
  }
}
