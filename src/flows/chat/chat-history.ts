/**
 * A chat as people saw it: what was written and what was answered, from inbox and outbox together.
 * (The transcript is another thing: what the model saw.)
 */
import { buttonsOf } from '../../approvals/answers.ts'
import { findQuestion } from '../../approvals/queries.ts'
import { listChatEvents } from '../../inbox/chat-history.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import type { ChatPosition, ChatRef } from '../../message/chat-range.ts'
import type { Attachment } from '../../message/event.ts'
import { type ChatHistoryRow, listChatMessages } from '../../outbox/chat-history.ts'
import type { StoredAttachment } from '../../outbox/stored-attachment.ts'
import type { ChatEntry, ChatFile, ChatQuestion, HistoryQuery } from '../../platforms/context.ts'
import type { Transaction } from '../../store/query.ts'

/**
 * Oldest first: the `limit` entries that follow `after`, or else the newest ones, those before `before`.
 * @param mediaDirectory contains the files that users sent
 */
export function* chatHistory(
  chat: ChatRef,
  { after, before, limit }: HistoryQuery,
  mediaDirectory: string,
): Transaction<ChatEntry[]> {
  const spanOf = (side: EntryOrigin) => ({
    from: after === undefined ? ('newest' as const) : ('oldest' as const),
    after: after === undefined ? { at: -1, row: 0 } : positionOf(after, side),
    before: before === undefined ? { at: Number.MAX_SAFE_INTEGER, row: 0 } : positionOf(before, side),
    limit,
  })
  const userEntries = (yield* listChatEvents(chat, spanOf('i'))).map(({ seq, payload, turn_id, accepted_at }) => {
    const event = parseStoredEvent(payload)
    return {
      id: entryId(accepted_at, 'i', seq),
      from: 'user' as const,
      kind: 'message' as const,
      text: event.text,
      at: accepted_at,
      messageId: event.messageId,
      ...(turn_id === null ? {} : { turnId: turn_id }),
      ...withFiles((event.attachments ?? []).filter(({ quoted }) => quoted !== true).map(receivedFile(mediaDirectory))),
    }
  })
  const agentEntries: ChatEntry[] = []
  for (const row of yield* listChatMessages(chat, spanOf('o'))) agentEntries.push(yield* agentEntry(row))
  const all = [...userEntries, ...agentEntries].sort((a, b) => (a.id < b.id ? -1 : 1))
  return after === undefined ? all.slice(-limit) : all.slice(0, limit)
}

function* agentEntry({ id, key, text, kind, turn_id, attachment, created_at }: ChatHistoryRow): Transaction<ChatEntry> {
  const asked = yield* questionOf(key)
  const turnId = turn_id ?? asked?.turnId
  return {
    id: entryId(created_at, 'o', id),
    from: 'agent',
    kind: kind === 'reply' ? 'message' : 'notice',
    text,
    at: created_at,
    turnId,
    question: asked?.question,
    ...withFiles(attachment === null ? [] : [sentFile(attachment, key)]),
  }
}

function withFiles(files: readonly ChatFile[]): Pick<ChatEntry, 'files'> {
  return files.length === 0 ? {} : { files }
}

function receivedFile(mediaDirectory: string): (file: Attachment) => ChatFile {
  return ({ kind, path, fileName = '', mimeType, bytes }) => ({
    kind,
    fileName,
    mimeType,
    bytes,
    ...(path?.startsWith(`${mediaDirectory}/`) === true ? { name: path.slice(mediaDirectory.length + 1) } : {}),
  })
}

function sentFile(json: string, key: string): ChatFile {
  // The outbox has written it, so its shape is known.
  const { kind, fileName, mimeType, caption }: StoredAttachment = JSON.parse(json)
  return { kind, fileName, mimeType, caption, deliveryId: key }
}

/** The keys of a question with buttons and of its result (`replyKeyOf`), with the number of the message. */
const questionKey = /^question:([\w-]+)(?::closed)?:\d+$/

function* questionOf(
  key: string,
): Transaction<{ readonly question: ChatQuestion; readonly turnId: string | undefined } | undefined> {
  const id = questionKey.exec(key)?.[1]
  const stored = id === undefined ? undefined : yield* findQuestion(id)
  if (stored?.buttons !== true) return undefined
  const { choices, state, answer, turnId = stored.about?.turnId } = stored
  const isOpen = state === 'waiting'
  const chosen = choices.find((choice) => choice.answer === answer)
  const settled = chosen === undefined ? 'unanswered' : chosen.style === 'danger' ? 'refused' : 'accepted'
  return {
    question: { id: stored.id, state: isOpen ? 'open' : settled, buttons: isOpen ? buttonsOf(stored.id, stored) : [] },
    turnId,
  }
}

/** What was written comes from the inbox, what was answered from the outbox. */
type EntryOrigin = 'i' | 'o'

/** Sorts as text by time, then by row: the digits of a time in ms stay as many until the year 2286. */
export function entryId(at: number, side: EntryOrigin, row: number): string {
  return `${at}-${side}${String(row).padStart(12, '0')}`
}

/** Where an entry lies as seen from one side: of its moment, all rows of the earlier side come before it. */
function positionOf(id: string, side: EntryOrigin): ChatPosition {
  const [, at = '0', kind = 'i', row = '0'] = /^(\d{1,15})-([io])(\d{1,15})$/.exec(id) ?? []
  if (kind === side) return { at: Number(at), row: Number(row) }
  return { at: Number(at), row: side < kind ? Number.MAX_SAFE_INTEGER : -1 }
}
