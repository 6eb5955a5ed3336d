/**
 * A chat as people saw it: what was written and what was answered, from inbox and outbox together.
 * (The transcript is another thing: what the model saw.)
 */
import { eventsOfChat } from './inbox/queries.ts'
import type { MessageEvent } from './message/event.ts'
import { messagesOfChat } from './outbox/chat-lines.ts'
import type { ChatEntry, HistoryQuery } from './platforms/adapter.ts'
import type { UseCase } from './store/query.ts'

export interface ChatName {
  readonly platform: string
  readonly account: string
  readonly chatId: string
}

/** Oldest first: the `limit` entries that follow `after`, or else the newest ones, those before `before`. */
export function* chatHistory(chat: ChatName, { after, before, limit }: HistoryQuery): UseCase<ChatEntry[]> {
  const from = after === undefined ? 'newest' : 'oldest'
  // The entry named is found again and left out below, so one more is asked for.
  const span = {
    from,
    since: timeOf(after, 0),
    until: timeOf(before, Number.MAX_SAFE_INTEGER),
    limit: limit + 1,
  } as const
  const written = (yield* eventsOfChat(chat, span)).map(({ seq, payload, turn_id, accepted_at }) => {
    const event = storedEvent(payload)
    return {
      id: entryId(accepted_at, 'i', seq),
      from: 'user' as const,
      kind: 'message' as const,
      text: event.text,
      at: accepted_at,
      ...(event.messageId === undefined ? {} : { messageId: event.messageId }),
      ...(turn_id === null ? {} : { turnId: turn_id }),
    }
  })
  const answered = (yield* messagesOfChat(chat, span)).map(({ id, text, kind, turn_id, created_at }) => ({
    id: entryId(created_at, 'o', id),
    from: 'agent' as const,
    kind: kind === 'reply' ? ('message' as const) : ('notice' as const),
    text,
    at: created_at,
    ...(turn_id === null ? {} : { turnId: turn_id }),
  }))
  const wanted = [...written, ...answered]
    .filter(({ id }) => (after === undefined || id > after) && (before === undefined || id < before))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  return from === 'oldest' ? wanted.slice(0, limit) : wanted.slice(-limit)
}

/** Sorts as text by time, then by row: the digits of a time in ms stay as many until the year 2286. */
export function entryId(at: number, side: 'i' | 'o', row: number): string {
  return `${at}-${side}${String(row).padStart(12, '0')}`
}

function timeOf(id: string | undefined, otherwise: number): number {
  const at = Number.parseInt(id ?? '', 10)
  return Number.isSafeInteger(at) ? at : otherwise
}

/** JSON that the inbox wrote itself. */
function storedEvent(payload: string): MessageEvent {
  return JSON.parse(payload)
}
