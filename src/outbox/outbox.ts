/**
 * The outbox: stores replies before they are sent, delivers them in the order of their chat, and neither loses nor silently
 * repeats one. Live drafts and typing indicators are not stored.
 */
import { lazy } from '../lib/cache.ts'
import { messageOf } from '../lib/errors.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Authority } from '../message/authority.ts'
import type { SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { Transaction, TransactionPart } from '../store/query.ts'
import { createOutboxContext, type OutboxContext, type OutboxDeps, toFinishedMessage } from './context.ts'
import { type DeadLetter, dropDeadLetter, listDeadLetters, retryDeadLetter } from './dead-letters.ts'
import { createDelivery } from './delivery.ts'
import type { Draft, DraftAddress, DraftOptions } from './draft.ts'
import { createDrafts } from './drafts.ts'
import { callRateLimited, type RateLimitedCall, showTyping } from './platform-calls.ts'
import { bytesPerMb, prepareAttachment } from './prepare-attachment.ts'
import { chatOf, expediteRows, listDrafts, pruneOutbox, recoverRows } from './queries.ts'
import { prepareReply, type Reply } from './reply.ts'
import type { StatusMessage, StatusOptions } from './status-message.ts'

export type { Sender } from './context.ts'
export type { DeadLetter } from './dead-letters.ts'
export type { Draft, DraftAddress, DraftOptions } from './draft.ts'
export type { Reply } from './reply.ts'
export type { StatusMessage, StatusOptions } from './status-message.ts'

export interface Outbox {
  /**
   * Splits a reply into messages, for the transaction that ends the work of the caller. Never throws.
   */
  prepare(reply: Reply): TransactionPart
  /**
   * Why a file would not be sent now, in a few words for people; undefined if it would. It is checked again when it is sent.
   * Never rejects. `path` as in a media tag; an address is not checked. `authority`: who causes it.
   */
  fileProblem(path: string, authority: Authority): Promise<string | undefined>
  /**
   * Shows a reply while it is written, after earlier replies of the chat were sent. `null` when streaming is off or the
   * platform is disconnected or cannot edit. If the turn showed a draft before, the result only knows its address.
   */
  openDraft(options: DraftOptions): Draft | null
  /** The draft of a part of a turn, also from before a restart; `null` when there is none. Complete after `recover`. */
  draftAddressOf(turnId: string, part?: number): DraftAddress | null
  /**
   * A message that shows what a turn does, from the moment of its first text. Continues the one that an earlier attempt of
   * the turn has shown.
   */
  openStatus(options: StatusOptions): Promise<StatusMessage>
  /** Whether the platform shows status messages now. */
  takesStatus(target: Target): boolean
  /** The indexes of the status messages that an earlier attempt of the turn has left in the chat. Complete after `recover`. */
  leftStatuses(turnId: string): readonly number[]
  /** Shows a typing indicator until the signal aborts, except while `isPaused`. Failures are ignored. */
  showTyping(target: Target, signal: AbortSignal, isPaused?: () => boolean): void
  /**
   * Makes a call of an adapter within the rate limits of the chat and the account. A rate limit in the response is
   * respected by later calls; nothing is retried. Rejects when the signal aborts or the gateway stops before the response,
   * after 15 s, and as the call does. Must not be used within `send` or `edit`: those hold the permit of the chat.
   */
  rateLimited(target: Target, signal: AbortSignal, call: RateLimitedCall): Promise<SendResult>
  /** Called once after a start: resolves deliveries that a crash interrupted and delivers open rows. Rejects `store/...`. */
  recover(): Promise<{ openChats: number }>
  /** Called when an account is connected or works again: delivers its open rows. */
  platformConnected(platform: string, account: string): void
  /** The text without the gateway's own secrets, as the outbox would send it. */
  withhold(text: string): string
  /** For a text that is still being written: an end that may be the beginning of a secret is left out. */
  withholdPartial(text: string): string
  /** How many messages contained a secret of this gateway since the start. */
  withheldMessages(): number
  /** Dead letters, the newest first. Rejects `store/...`. */
  list(limit?: number): Promise<readonly DeadLetter[]>
  /** Delivers a dead letter again; false when no dead letter has this id. Rejects `store/...`. */
  retry(id: number): Promise<boolean>
  /** Gives a dead letter up for good; false when no dead letter has this id. Rejects `store/...`. */
  drop(id: number): Promise<boolean>
  /** Retention: deletes finished rows older than a time in ms, at most `limit`; returns how many. */
  prune(olderThan: number, limit: number): Transaction<number>
  /** Resolves when no work is possible now: all rows are sent, or wait for a time or for their platform. */
  whenIdle(): Promise<void>
  /**
   * Takes no new work and lets calls in flight end, within `graceMs`. Open rows are delivered after the next start.
   * May be called twice.
   */
  stop(graceMs: number): Promise<void>
}

/** Expediting shorter waits would use up the tries of a reply on a platform that reconnects again and again. */
const minExpeditedWaitMs = 5_000
/** How long calls may take to end after their signal was aborted. */
const abortGraceMs = 1_000

export function createOutbox(deps: OutboxDeps): Outbox {
  const drain = new AbortController()
  const abort = new AbortController()
  const context = createOutboxContext(deps, drain.signal, abort.signal)
  const delivery = createDelivery(context)
  const drafts = createDrafts(context, delivery.isBusy)
  const loadStatus = lazy(() => import('./status-message.ts'))
  const startedAt = context.clock()
  let stopped: Promise<void> | undefined

  async function waitUntilStopped(graceMs: number): Promise<boolean> {
    const [draftsClosed, deliveryStopped] = await Promise.all([
      withTimeout(drafts.close(), graceMs),
      delivery.stop(graceMs),
    ])
    return draftsClosed.done && deliveryStopped
  }

  async function stopCalls(graceMs: number): Promise<void> {
    const reason = new Error('stopped before the platform answered')
    drain.abort(reason)
    if (await waitUntilStopped(graceMs)) return
    abort.abort(reason)
    if (await waitUntilStopped(abortGraceMs)) return
    context.log.warn({ event: 'outbox.stop_timed_out' }, 'the outbox stops with calls in flight')
  }

  return {
    prepare: (reply) => prepareReply(context, delivery, drafts, reply),
    async fileProblem(path, authority) {
      if (/^https?:\/\//i.test(path)) return undefined
      const limits = {
        policy: context.attachmentPolicy,
        maxBytes: context.settings().outbox.max_attachment_mb * bytesPerMb,
      }
      const source = { kind: 'file' as const, path }
      const file = { kind: 'document' as const, fileName: '', mimeType: '', caption: '', source, authority }
      const prepared = await prepareAttachment(file, limits)
      if (!prepared.ok) return prepared.reason
      await prepared.close()
      return undefined
    },
    openDraft: (draftOptions) => drafts.open(draftOptions),
    draftAddressOf: (turnId, part = 0) => drafts.addressOf(turnId, part),
    async openStatus(options) {
      const { openStatusMessage } = await loadStatus()
      return openStatusMessage(context, drafts, delivery.isBusy, options)
    },
    // Pages and clients that read the stored history show the tools themselves, or not at all.
    takesStatus: (target) => context.availableSender(chatOf(target))?.idempotentSends !== true,
    leftStatuses: (turnId) => drafts.leftStatuses(turnId),
    showTyping: (target, signal, isPaused) => void showTyping(context, target, signal, isPaused),
    rateLimited: (target, signal, call) => callRateLimited(context, target, signal, call),
    async recover() {
      const now = context.clock()
      const { chats, deadLetters, storedDrafts } = await context.store.run(function* () {
        const recovered = yield* recoverRows(context.settings().outbox.max_tries, now)
        return { ...recovered, storedDrafts: yield* listDrafts() }
      })
      context.failpoint?.('outbox:recovering')
      for (const row of deadLetters) context.onFinished?.({ ...toFinishedMessage(row), error: row.error ?? '' })
      drafts.restore(storedDrafts)
      for (const chat of chats) delivery.start(chat)
      return { openChats: chats.length }
    },
    platformConnected(platform, account) {
      context.unblock(platform, account)
      void expedite(context, platform, account, startedAt).finally(() => delivery.wake(platform, account))
    },
    withhold: context.secretFilter.withhold,
    withholdPartial: context.secretFilter.withholdPartial,
    withheldMessages: context.withheldMessages,
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
    stop(graceMs) {
      stopped ??= stopCalls(graceMs)
      return stopped
    },
  }
}

/** Delivers rows now that wait because of an outage, not at the end of their backoff. The rate limiter still applies. */
async function expedite(context: OutboxContext, platform: string, account: string, startedAt: number): Promise<void> {
  const now = context.clock()
  const selection = { platform, account, from: now + minExpeditedWaitMs, since: startedAt }
  try {
    await context.store.run(() => expediteRows(selection, now))
  } catch (error) {
    context.log.warn(
      { event: 'outbox.expedite_failed', platform, account, err: error },
      `replies wait longer than necessary: ${messageOf(error)}`,
    )
  }
}
