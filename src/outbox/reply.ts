/**
 * Splits a reply into messages and stores them as rows, in the transaction that ends the turn.
 */
import { messageOf } from '../lib/errors.ts'
import type { Authority } from '../message/authority.ts'
import type { Button } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { MessageLimits } from '../platforms/adapter.ts'
import { afterCommit, enlist, type Transaction, type TransactionPart } from '../store/query.ts'
import { type OutboxContext, type Sender, toFinishedMessage, toSentMessage } from './context.ts'
import { findDeadTarget } from './dead-targets.ts'
import type { Delivery } from './delivery.ts'
import type { DraftAddress, Drafts } from './draft.ts'
import { extractMedia } from './extract-media.ts'
import type { MediaItem } from './media-tags.ts'
import { callWithTimeout } from './platform-calls.ts'
import {
  type Chat,
  chatOf,
  deleteDraft,
  findHeadOfChat,
  findShownFiles,
  insertRow,
  type NewOutboxRow,
  type OutboxRow,
  shownFileKey,
} from './queries.ts'
import { splitReply } from './split-message.ts'
import { formatAttachmentLine, parseAttachment, serializeAttachment } from './stored-attachment.ts'

export interface Reply {
  /** Never used twice: a second reply with the same key is ignored. Its messages are `<key>:1`, `<key>:2` ... and `<key>:voice`. */
  readonly key: string
  readonly target: Target
  readonly sessionKey?: string | undefined
  readonly turnId?: string | undefined
  /** The authority of the person who caused the reply, who is sent no file that this person may not read. */
  readonly authority?: Authority | undefined
  readonly kind: 'reply' | 'notice'
  /** Markdown. The files that a `reply` names (contract §3.8) are sent after it. A blank text sends nothing. */
  readonly text: string
  /** A spoken text, which is stored and sent on its own: `text` is blank. */
  readonly voice?: Pick<MediaItem, 'fileName' | 'mimeType' | 'source'>
  /** Buttons below the last message of the text, on platforms that support them. */
  readonly buttons?: readonly Button[] | undefined
  /** The platform's id of the message that is answered. The account's settings decide which messages refer to it. */
  readonly replyTo?: string | undefined
  /** No one in the chat has asked for it: it is not sent to a chat that takes no messages any more. */
  readonly isUnsolicited?: boolean | undefined
  /** Earlier messages answer the same message, so this one refers to it only if all messages do. */
  readonly isContinuation?: boolean | undefined
  /** The live draft of the turn; the first message replaces it. */
  readonly draft?: DraftAddress | undefined
}

/** Splits a reply into messages. They are stored within the caller's transaction, and delivery begins after its commit. */
export function prepareReply(
  context: OutboxContext,
  delivery: Delivery,
  drafts: Drafts,
  reply: Reply,
): TransactionPart {
  const rows = toRows(context, reply)
  const prepared = prepareRows(context, delivery, drafts, reply, rows)
  return reply.isUnsolicited === true ? skippedIfDead(context, chatOf(reply.target), rows, prepared) : prepared
}

function prepareRows(
  context: OutboxContext,
  delivery: Delivery,
  drafts: Drafts,
  reply: Reply,
  rows: readonly NewOutboxRow[],
): TransactionPart {
  const chat = chatOf(reply.target)
  const replacesDraft = rows[0]?.op === 'edit'
  /** The row that the transaction of this reply claims, which saves a second transaction before the call. */
  let claimed: OutboxRow | undefined

  return {
    *write(now) {
      releaseClaim()
      if (reply.draft !== undefined && reply.turnId !== undefined)
        yield* deleteDraft(reply.turnId, reply.draft.part ?? 0)
      // The worker decides which files are sent together.
      const startsWithFiles = typeof rows[0]?.attachment === 'string' && typeof rows[1]?.attachment === 'string'
      const mayCall =
        rows.length > 0 &&
        !startsWithFiles &&
        context.availableSender(chat) !== undefined &&
        context.rateLimiter.isAvailable(chat)
      let mayClaim = mayCall && !delivery.isBusy(chat) && (yield* findHeadOfChat(chat)) === undefined
      const shown = yield* filesShownBefore(reply, rows)
      for (const row of rows) {
        if (shown.has(addressOf(row) ?? '')) continue
        if (row.op === 'edit' && isAlreadyShown(context, reply, row)) {
          yield* storeShown(context, row, now)
          continue
        }
        const id = yield* insertRow(mayClaim ? { ...row, state: 'sending' } : row, now)
        if (mayClaim && id !== undefined) {
          claimed = { ...row, id, album: null, state: 'sending', doubt: 0, tries: 0, due_at: now }
          delivery.reserve(claimed)
        }
        mayClaim = false
      }
    },
    committed() {
      if (reply.draft !== undefined && reply.turnId !== undefined) drafts.forget(reply.turnId, reply.draft.part ?? 0)
      if (rows.length > 0) delivery.start(chat, claimed)
      if (reply.draft !== undefined && !replacesDraft) void removeDraft(context, reply.target, reply.draft)
    },
    rolledBack: releaseClaim,
  }

  function releaseClaim(): void {
    if (claimed !== undefined) delivery.release(claimed)
    claimed = undefined
  }
}

/** Stores a message whose text the draft shows already. */
function* storeShown(context: OutboxContext, row: NewOutboxRow, now: number): Transaction<void> {
  yield* insertRow({ ...row, state: 'sent', platform_id: row.target }, now)
  const message = toSentMessage(row, row.target)
  if (message !== undefined) yield* afterCommit(() => context.onFinished?.(message))
}

/** The addresses of files that the model names although a tool has sent them. */
function* filesShownBefore(
  { turnId, key }: Reply,
  rows: readonly NewOutboxRow[],
): Transaction<ReadonlySet<string | undefined>> {
  const namesFiles = rows.some((row) => typeof row.attachment === 'string' && row.key !== `${key}:voice`)
  if (turnId === undefined || !namesFiles || key.startsWith(`${shownFileKey(turnId)}:`)) return new Set()
  return new Set((yield* findShownFiles(turnId)).map((attachment) => addressOf({ attachment })))
}

function addressOf({ attachment }: { readonly attachment?: string | null }): string | undefined {
  if (typeof attachment !== 'string') return undefined
  const { source } = parseAttachment(attachment)
  return source.kind === 'file' ? source.path : source.url
}

/** Stores the rows as given up where the chat takes no messages any more. */
function skippedIfDead(
  context: OutboxContext,
  chat: Chat,
  rows: readonly NewOutboxRow[],
  prepared: TransactionPart,
): TransactionPart {
  return {
    *write(now) {
      const reason = yield* skipReason(chat)
      if (reason === undefined) return yield* enlist(prepared, now)
      for (const row of rows) yield* insertRow({ ...row, state: 'dropped', error: reason }, now)
      yield* afterCommit(() => reportSkipped(context, rows, reason))
    },
  }
}

function* skipReason(chat: Chat): Transaction<string | undefined> {
  const dead = yield* findDeadTarget(chat)
  if (dead === undefined) return undefined
  return `skipped: the chat takes no messages since ${new Date(dead.since).toISOString()} (${dead.reason})`
}

function reportSkipped(context: OutboxContext, rows: readonly NewOutboxRow[], reason: string): void {
  for (const row of rows) {
    context.log.warn({ event: 'outbox.skipped', key: row.key, reason }, 'message not sent: its chat takes none')
    context.onFinished?.({ ...toFinishedMessage(row), error: reason })
  }
}

/** The messages of the text, then the files that it names. Only replies of the model name files. */
function toRows(context: OutboxContext, reply: Reply): NewOutboxRow[] {
  const chat = chatOf(reply.target)
  const written = reply.text.toWellFormed()
  const fullText = context.secretFilter.withhold(written)
  if (fullText !== written) context.reportWithheld(chat, reply.turnId)
  const { text, items } = reply.kind === 'reply' ? extractMedia(fullText) : { text: fullText, items: [] }
  const parts = toParts(text, context.limits(chat))
  const buttons = reply.buttons === undefined || reply.buttons.length === 0 ? null : JSON.stringify(reply.buttons)
  const toFile = (item: MediaItem) => ({
    text: formatAttachmentLine(item),
    attachment: serializeAttachment(item, reply.authority),
    buttons: null,
  })
  const contents = [
    ...parts.map((part, index) => ({
      text: part,
      attachment: null,
      buttons: index === parts.length - 1 ? buttons : null,
    })),
    ...items.map(toFile),
  ]
  const { replyTo } = context.replyPolicy(chat)
  const isFreshFinal = isSentAnew(context, chat, reply.draft)
  const refers = (isFirst: boolean) =>
    replyTo === 'all' || (replyTo === 'first' && isFirst && reply.isContinuation !== true) ? reply.replyTo : undefined
  const rows = contents.map((content, index) => {
    const draft = index === 0 && content.attachment === null && !isFreshFinal ? reply.draft : undefined
    const refersTo = refers(index === 0)
    return toRow(reply, `${index + 1}`, { ...content, draft, replyTo: refersTo })
  })
  if (reply.voice === undefined) return rows
  const spoken = toFile({ ...reply.voice, kind: 'voice', caption: '' })
  return [toRow(reply, 'voice', { ...spoken, draft: undefined, replyTo: refers(true) })]
}

/** Whether the draft was shown for so long that the reply is sent as a new message, which the platform announces. */
function isSentAnew(context: OutboxContext, chat: Chat, draft: DraftAddress | undefined): boolean {
  const { fresh_final_after_seconds: seconds } = context.settings().streaming
  if (seconds === 0 || draft?.shownSince === undefined) return false
  return context.clock() - draft.shownSince >= seconds * 1_000 && context.availableSender(chat)?.remove !== undefined
}

function toParts(text: string, limits: MessageLimits): string[] {
  return text.trim() === '' ? [] : splitReply(text, limits)
}

interface RowContent extends Pick<NewOutboxRow, 'text' | 'attachment' | 'buttons'> {
  readonly draft: DraftAddress | undefined
  readonly replyTo: string | undefined
}

/** @param part of the key: the number of the message, or `voice` */
function toRow(reply: Reply, part: string, { draft, replyTo, ...content }: RowContent): NewOutboxRow {
  const { platform, account, chatId, threadId } = reply.target
  return {
    ...content,
    key: `${reply.key}:${part}`,
    platform,
    account,
    chat_id: chatId,
    thread_id: threadId ?? '',
    session_key: reply.sessionKey ?? null,
    turn_id: reply.turnId ?? null,
    kind: reply.kind,
    op: draft === undefined ? 'send' : 'edit',
    target: draft?.platformId ?? null,
    reply_to: replyTo ?? null,
    state: 'queued',
    platform_id: null,
  }
}

/** An adapter that draws the cursor itself needs the final edit even when the text does not change. */
function isAlreadyShown(context: OutboxContext, { target, draft }: Reply, { text, buttons }: NewOutboxRow): boolean {
  return draft?.shownText === text && buttons === null && context.availableSender(chatOf(target))?.drawsCursor !== true
}

/** How often the removal of a draft is tried on a platform that limits the rate. */
const maxRemovalAttempts = 3

/** Removes the draft of a turn that ended without a text, on platforms that can. Never rejects. */
async function removeDraft(
  context: OutboxContext,
  target: Target,
  { platformId, deliveryId }: DraftAddress,
): Promise<void> {
  const chat = chatOf(target)
  try {
    for (let attempt = 1; ; attempt++) {
      if (context.availableSender(chat)?.remove === undefined) return
      const permit =
        context.rateLimiter.tryAcquire(chat, 'draft') ??
        (await context.rateLimiter.acquire(chat, 'draft', context.drainSignal))
      const sender = context.availableSender(chat)
      const remove = sender?.remove?.bind(sender)
      if (permit === undefined || sender === undefined || remove === undefined) return permit?.release()
      try {
        const messageId = deliveryId === undefined ? platformId : await findLost(context, sender, target, deliveryId)
        if (messageId === undefined) return
        const result = await callWithTimeout(context.abortSignal, (signal) => remove(target, messageId, signal))
        permit.record(result, context.clock())
        if (result.success) return
        if (result.problem === 'rate-limited' && attempt < maxRemovalAttempts) continue
        context.log.debug(
          { event: 'outbox.draft_removal_failed', ...target, reason: result.error },
          'an abandoned draft could not be removed',
        )
        return
      } finally {
        permit.release()
      }
    }
  } catch (error) {
    context.log.debug(
      { event: 'outbox.draft_removal_failed', ...target, err: error },
      `an abandoned draft could not be removed: ${messageOf(error)}`,
    )
  }
}

async function findLost(
  { abortSignal }: OutboxContext,
  sender: Sender,
  target: Target,
  deliveryId: string,
): Promise<string | undefined> {
  const { addressOfLostDraft } = await import('./lost-drafts.ts')
  return await addressOfLostDraft(sender, { target, deliveryId }, abortSignal)
}
