/**
 * Turns a reply into rows that are stored with the turn they end.
 */
import { messageOf } from '../lib/errors.ts'
import type { Button } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { Transaction } from '../store/query.ts'
import { type OutboxContext, toSentMessage } from './context.ts'
import type { Delivery } from './delivery.ts'
import type { DraftAddress } from './draft.ts'
import { deleteDraft } from './draft-queries.ts'
import type { Drafts } from './drafts.ts'
import { extractMedia } from './extract-media.ts'
import { findHeadOfChat, insertRow, type NewOutboxRow, type OutboxRow } from './queries.ts'
import { callWithTimeout, chatOf } from './sender.ts'
import { splitMessage } from './split-message.ts'
import { formatAttachmentLine, serializeAttachment } from './stored-attachment.ts'
import { serializeButtons } from './stored-buttons.ts'

export interface Reply {
  /** Unique for ever: a second reply of the same key is ignored. Its messages are `<key>:1`, `<key>:2` … */
  readonly key: string
  readonly target: Target
  readonly sessionKey?: string
  readonly turnId?: string
  readonly kind: 'reply' | 'notice'
  /** Markdown; the files that a `reply` names (contract §3.8) are sent after it. Blank: nothing is sent. */
  readonly text: string
  /** Choices under the last message of the text, where the platform shows buttons. */
  readonly buttons?: readonly Button[]
  /** The platform's id of the message this answers; how many messages refer to it is up to the account. */
  readonly replyTo?: string
  /** The draft people have watched; the first message replaces it. */
  readonly draft?: DraftAddress
}

/** A reply cut into messages. Its functions may be passed around without it. */
export interface PreparedReply {
  /** Stores the messages within the caller's transaction, which may be tried again. */
  readonly write: (now: number) => Transaction<void>
  /** The transaction is on disk: delivery begins. */
  readonly committed: () => void
  /** The transaction has failed for good. */
  readonly rolledBack: () => void
}

export function prepareReply(context: OutboxContext, delivery: Delivery, drafts: Drafts, reply: Reply): PreparedReply {
  const chat = chatOf(reply.target)
  const rows = toRows(context, reply)
  const replacesDraft = rows[0]?.op === 'edit'
  /** The row that this reply's own transaction claims, so that no other lies before the call. */
  let claimed: OutboxRow | undefined
  /** Stood there word for word before it was finished. */
  let shown: NewOutboxRow | undefined

  return {
    *write(now) {
      releaseClaim()
      if (reply.draft !== undefined && reply.turnId !== undefined) yield* deleteDraft(reply.turnId)
      const mayCall =
        rows.length > 0 && context.availableSender(chat) !== undefined && context.rateLimiter.isAvailable(chat)
      let mayClaim = mayCall && !delivery.isBusy(chat) && (yield* findHeadOfChat(chat)) === undefined
      for (const row of rows) {
        if (row.op === 'edit' && isAlreadyShown(context, reply, row)) {
          yield* insertRow({ ...row, state: 'sent', platform_id: row.target }, now)
          shown = row
          continue
        }
        const id = yield* insertRow(mayClaim ? { ...row, state: 'sending' } : row, now)
        if (mayClaim && id !== undefined) {
          claimed = { ...row, id, state: 'sending', doubt: 0, tries: 0, due_at: now }
          delivery.reserve(id)
        }
        mayClaim = false
      }
    },
    committed() {
      if (reply.draft !== undefined && reply.turnId !== undefined) drafts.forget(reply.turnId)
      const message = shown === undefined ? undefined : toSentMessage(shown, shown.target)
      if (message !== undefined) context.onFinished?.(message)
      if (rows.length > 0) delivery.start(chat, claimed)
      if (reply.draft !== undefined && !replacesDraft) void removeDraft(context, reply.target, reply.draft)
    },
    rolledBack: releaseClaim,
  }

  function releaseClaim(): void {
    if (claimed !== undefined) delivery.release(claimed.id)
    claimed = undefined
  }
}

/** The text first, then the files it names. What the gateway itself says names none. */
function toRows(context: OutboxContext, reply: Reply): NewOutboxRow[] {
  const chat = chatOf(reply.target)
  const whole = reply.text.toWellFormed()
  const { text, items } = reply.kind === 'reply' ? extractMedia(whole) : { text: whole, items: [] }
  const parts = text.trim() === '' ? [] : splitMessage(text, context.limits(chat))
  const buttons = serializeButtons(reply.buttons)
  const contents = [
    ...parts.map((part, index) => ({
      text: part,
      attachment: null,
      buttons: index === parts.length - 1 ? buttons : null,
    })),
    ...items.map((item) => ({
      text: formatAttachmentLine(item),
      attachment: serializeAttachment(item),
      buttons: null,
    })),
  ]
  const { replyTo } = context.replyPolicy(chat)
  return contents.map((content, index) => {
    const refers = replyTo === 'all' || (replyTo === 'first' && index === 0)
    const draft = index === 0 && content.attachment === null ? reply.draft : undefined
    return toRow(reply, index, { ...content, draft, replyTo: refers ? reply.replyTo : undefined })
  })
}

interface RowContent extends Pick<NewOutboxRow, 'text' | 'attachment' | 'buttons'> {
  readonly draft: DraftAddress | undefined
  readonly replyTo: string | undefined
}

function toRow(reply: Reply, index: number, { draft, replyTo, ...content }: RowContent): NewOutboxRow {
  const { platform, account, chatId, threadId } = reply.target
  return {
    ...content,
    key: `${reply.key}:${index + 1}`,
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

/** Adapters that mark a growing reply themselves must hear of the last edit even when no letter changes. */
function isAlreadyShown(context: OutboxContext, { target, draft }: Reply, { text, buttons }: NewOutboxRow): boolean {
  return draft?.shownText === text && buttons === null && context.availableSender(chatOf(target))?.drawsCursor !== true
}

/** How often a platform that limits the rate is asked to take a draft away. */
const maxRemovalAttempts = 3

/** A turn without a text takes its draft back, where the platform can; otherwise it stays as it is. Never rejects. */
async function removeDraft(context: OutboxContext, target: Target, { platformId }: DraftAddress): Promise<void> {
  const chat = chatOf(target)
  try {
    for (let attempt = 1; ; attempt++) {
      if (context.availableSender(chat)?.remove === undefined) return
      const permit =
        context.rateLimiter.tryAcquire(chat, 'draft') ??
        (await context.rateLimiter.acquire(chat, 'draft', context.drainSignal))
      const sender = context.availableSender(chat)
      const remove = sender?.remove?.bind(sender)
      if (permit === undefined || remove === undefined) return permit?.release()
      try {
        const result = await callWithTimeout(context.abortSignal, (signal) => remove(target, platformId, signal))
        permit.record(result, context.clock())
        if (result.success) return
        if (result.problem === 'rate-limited' && attempt < maxRemovalAttempts) continue
        context.log.debug({ ...target, error: result.error }, 'an abandoned draft could not be removed')
        return
      } finally {
        permit.release()
      }
    }
  } catch (error) {
    context.log.debug({ ...target, error }, `an abandoned draft could not be removed: ${messageOf(error)}`)
  }
}
