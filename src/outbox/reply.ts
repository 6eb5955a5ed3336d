/**
 * Turns a reply into rows that are stored with the turn they end.
 */
import { messageOf } from '../lib/errors.ts'
import type { Button } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { UseCase } from '../store/query.ts'
import type { Delivery } from './delivery.ts'
import type { DraftAddress } from './draft.ts'
import { forgetDraft } from './draft-rows.ts'
import type { Drafts } from './drafts.ts'
import { headOfChat, insertRow, type NewRow, type OutboxRow } from './queries.ts'
import type { Room } from './room.ts'
import { bounded, chatOf } from './sender.ts'
import { splitMessage } from './split.ts'

export interface Reply {
  /** Unique for ever: a second reply of the same key is ignored. Its messages are `<key>:1`, `<key>:2` … */
  readonly key: string
  readonly target: Target
  readonly sessionKey?: string
  readonly turnId?: string
  readonly kind: 'reply' | 'notice'
  /** Markdown. Blank: nothing is sent. */
  readonly text: string
  /** The platform's id of the message this answers; the first message refers to it. */
  readonly replyTo?: string
  /** The draft people have watched; the first message replaces it. */
  readonly draft?: DraftAddress
  /** Choices under the last message. */
  readonly buttons?: readonly Button[]
}

/** A reply cut into messages. Its functions may be passed around without it. */
export interface PreparedReply {
  /** Stores the messages within the caller's transaction, which may be tried again. */
  readonly write: (now: number) => UseCase<void>
  /** The transaction is on disk: delivery begins. */
  readonly committed: () => void
  /** The transaction has failed for good. */
  readonly abandoned: () => void
}

export function prepareReply(room: Room, delivery: Delivery, drafts: Drafts, reply: Reply): PreparedReply {
  const chat = chatOf(reply.target)
  const text = reply.text.toWellFormed()
  const parts = text.trim() === '' ? [] : splitMessage(text, room.limits(chat))
  const rows = parts.map((part, index) => rowOf(reply, part, index))
  /** The row that this reply's own transaction claims, so that no other lies before the call. */
  let claimed: OutboxRow | undefined

  return {
    *write(now) {
      disown()
      if (reply.draft !== undefined && reply.turnId !== undefined) yield* forgetDraft(reply.turnId)
      const mayCall = rows.length > 0 && room.open(chat) !== undefined && room.holdMs(chat) === 0
      let mayClaim = mayCall && !delivery.busy(chat) && (yield* headOfChat(chat)) === undefined
      for (const row of rows) {
        if (row.op === 'edit' && isShown(room, reply, row.text)) {
          yield* insertRow({ ...row, state: 'sent', platform_id: row.target }, now)
          continue
        }
        const id = yield* insertRow(mayClaim ? { ...row, state: 'sending' } : row, now)
        if (mayClaim && id !== undefined) {
          claimed = { ...row, id, state: 'sending', doubt: 0, tries: 0, due_at: now }
          delivery.expect(id)
        }
        mayClaim = false
      }
    },
    committed() {
      if (reply.draft !== undefined && reply.turnId !== undefined) drafts.forget(reply.turnId)
      if (rows.length > 0) delivery.start(chat, claimed)
      else if (reply.draft !== undefined) void removeDraft(room, reply.target, reply.draft)
    },
    abandoned: disown,
  }

  function disown(): void {
    if (claimed !== undefined) delivery.disown(claimed.id)
    claimed = undefined
  }
}

function rowOf(reply: Reply, text: string, index: number): NewRow {
  const { platform, account, chatId, threadId } = reply.target
  const draft = index === 0 ? reply.draft : undefined
  return {
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
    text,
    reply_to: index === 0 ? (reply.replyTo ?? null) : null,
    state: 'queued',
    platform_id: null,
  }
}

/** Adapters with a cursor of their own must hear of the last edit even when no letter changes. */
function isShown(room: Room, { target, draft }: Reply, text: string): boolean {
  return draft?.shownText === text && room.open(chatOf(target))?.idempotentSends !== true
}

/** A turn without an answer takes its draft back, where the platform can; otherwise it stays as it is. */
async function removeDraft(room: Room, target: Target, { platformId }: DraftAddress): Promise<void> {
  const sender = room.open(chatOf(target))
  const remove = sender?.remove?.bind(sender)
  if (remove === undefined) return
  try {
    const result = await bounded(room.halt, (signal) => remove(target, platformId, signal))
    if (!result.success) room.log.debug({ ...target, error: result.error }, 'an abandoned draft could not be removed')
  } catch (error) {
    room.log.debug({ ...target, error }, `an abandoned draft could not be removed: ${messageOf(error)}`)
  }
}
