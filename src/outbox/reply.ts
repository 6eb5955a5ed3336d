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
import { extractMedia } from './media.ts'
import { headOfChat, insertRow, type NewRow, type OutboxRow } from './queries.ts'
import { type Room, sentMessage } from './room.ts'
import { bounded, chatOf } from './sender.ts'
import { splitMessage } from './split.ts'
import { lineFor, storeAttachment } from './stored-attachment.ts'
import { storeButtons } from './stored-buttons.ts'

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
  readonly write: (now: number) => UseCase<void>
  /** The transaction is on disk: delivery begins. */
  readonly committed: () => void
  /** The transaction has failed for good. */
  readonly abandoned: () => void
}

export function prepareReply(room: Room, delivery: Delivery, drafts: Drafts, reply: Reply): PreparedReply {
  const chat = chatOf(reply.target)
  const rows = rowsOf(room, reply)
  const takesDraft = rows[0]?.op === 'edit'
  /** The row that this reply's own transaction claims, so that no other lies before the call. */
  let claimed: OutboxRow | undefined
  /** Stood there word for word before it was finished. */
  let shown: NewRow | undefined

  return {
    *write(now) {
      disown()
      if (reply.draft !== undefined && reply.turnId !== undefined) yield* forgetDraft(reply.turnId)
      const mayCall = rows.length > 0 && room.open(chat) !== undefined && room.budget.isFree(chat)
      let mayClaim = mayCall && !delivery.busy(chat) && (yield* headOfChat(chat)) === undefined
      for (const row of rows) {
        if (row.op === 'edit' && isShown(room, reply, row)) {
          yield* insertRow({ ...row, state: 'sent', platform_id: row.target }, now)
          shown = row
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
      const message = shown === undefined ? undefined : sentMessage(shown, shown.target)
      if (message !== undefined) room.onSettled?.(message)
      if (rows.length > 0) delivery.start(chat, claimed)
      if (reply.draft !== undefined && !takesDraft) void removeDraft(room, reply.target, reply.draft)
    },
    abandoned: disown,
  }

  function disown(): void {
    if (claimed !== undefined) delivery.disown(claimed.id)
    claimed = undefined
  }
}

/** The text first, then the files it names. What the gateway itself says names none. */
function rowsOf(room: Room, reply: Reply): NewRow[] {
  const chat = chatOf(reply.target)
  const whole = reply.text.toWellFormed()
  const { text, items } = reply.kind === 'reply' ? extractMedia(whole) : { text: whole, items: [] }
  const parts = text.trim() === '' ? [] : splitMessage(text, room.limits(chat))
  const buttons = storeButtons(reply.buttons)
  const contents = [
    ...parts.map((part, index) => ({
      text: part,
      attachment: null,
      buttons: index === parts.length - 1 ? buttons : null,
    })),
    ...items.map((item) => ({ text: lineFor(item), attachment: storeAttachment(item), buttons: null })),
  ]
  const { replyTo } = room.manner(chat)
  return contents.map((content, index) => {
    const refers = replyTo === 'all' || (replyTo === 'first' && index === 0)
    const draft = index === 0 && content.attachment === null ? reply.draft : undefined
    return rowOf(reply, index, { ...content, draft, replyTo: refers ? reply.replyTo : undefined })
  })
}

interface Content extends Pick<NewRow, 'text' | 'attachment' | 'buttons'> {
  readonly draft: DraftAddress | undefined
  readonly replyTo: string | undefined
}

function rowOf(reply: Reply, index: number, { draft, replyTo, ...content }: Content): NewRow {
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
function isShown(room: Room, { target, draft }: Reply, { text, buttons }: NewRow): boolean {
  return draft?.shownText === text && buttons === null && room.open(chatOf(target))?.drawsCursor !== true
}

/** How often a platform that limits the rate is asked to take a draft away. */
const removals = 3

/** A turn without a text takes its draft back, where the platform can; otherwise it stays as it is. Never rejects. */
async function removeDraft(room: Room, target: Target, { platformId }: DraftAddress): Promise<void> {
  const chat = chatOf(target)
  try {
    for (let attempt = 1; ; attempt++) {
      if (room.open(chat)?.remove === undefined) return
      const slot = room.budget.take(chat, 'draft') ?? (await room.budget.wait(chat, 'draft', room.quit))
      const sender = room.open(chat)
      const remove = sender?.remove?.bind(sender)
      if (slot === undefined || remove === undefined) return slot?.free()
      try {
        const result = await bounded(room.halt, (signal) => remove(target, platformId, signal))
        slot.heard(result, room.clock())
        if (result.success) return
        if (result.problem === 'rate-limited' && attempt < removals) continue
        room.log.debug({ ...target, error: result.error }, 'an abandoned draft could not be removed')
        return
      } finally {
        slot.free()
      }
    }
  } catch (error) {
    room.log.debug({ ...target, error }, `an abandoned draft could not be removed: ${messageOf(error)}`)
  }
}
