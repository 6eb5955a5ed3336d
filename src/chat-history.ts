/**
 * A chat as people saw it: what was written and what was answered, from inbox and outbox together.
 * (The transcript is another thing: what the model saw.)
 */
import { eventsOfChat } from './inbox/queries.ts'
import type { MessageEvent } from './message/event.ts'
import { messagesOfChat } from './outbox/chat-lines.ts'
import type { ChatEntry } from './platforms/adapter.ts'
import type { UseCase } from './store/query.ts'

export interface ChatName {
  readonly platform: string
  readonly account: string
  readonly chatId: string
}

/** Oldest first, at most `limit`, the newest ones unless `after` names the last entry that is known already. */
export function* chatHistory(chat: ChatName, after: string | undefined, limit: number): UseCase<ChatEntry[]> {
  const since = after === undefined ? 0 : timeOf(after)
  const written = (yield* eventsOfChat(chat, since, limit)).map(({ seq, payload, turn_id, accepted_at }) => {
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
  const answered = (yield* messagesOfChat(chat, since, limit)).map(({ id, text, kind, turn_id, created_at }) => ({
    id: entryId(created_at, 'o', id),
    from: 'agent' as const,
    kind: kind === 'reply' ? ('message' as const) : ('notice' as const),
    text,
    at: created_at,
    ...(turn_id === null ? {} : { turnId: turn_id }),
  }))
  const all = [...written, ...answered].sort((a, b) => (a.id < b.id ? -1 : 1))
  return all.filter((entry) => after === undefined || entry.id > after).slice(-limit)
}

/** Sorts as text by time, then by row: the digits of a time in ms stay as many until the year 2286. */
export function entryId(at: number, side: 'i' | 'o', row: number): string {
  return `${at}-${side}${String(row).padStart(12, '0')}`
}

function timeOf(id: string): number {
  const at = Number.parseInt(id, 10)
  return Number.isSafeInteger(at) ? at : 0
}

/** JSON that the inbox wrote itself. */
function storedEvent(payload: string): MessageEvent {
  return JSON.parse(payload)
}
