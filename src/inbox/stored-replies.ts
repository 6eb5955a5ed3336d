/**
 * Whether the reply to an event is in the outbox, for the audit. A stored result says what the gateway decided; only a row of
 * the outbox reaches the chat.
 */
import type { ChatParams } from '../message/chat-range.ts'
import { hasWaitingUser } from '../message/event.ts'
import type { TurnResult } from '../message/turn-result.ts'
import { pick, query, row, rows, type Transaction } from '../store/query.ts'
import { parseStoredEvent } from './stored-event.ts'

/** An event that ended with a text. */
export interface RepliedEvent {
  readonly seq: number
  readonly lane: 'turn' | 'control'
  readonly turn_id: string | null
}

const selectByKey = query((db, p: { key: string }) => db.selectFrom('outbox').select('id').where('key', '=', p.key))

const selectEvent = query((db, p: { seq: number }) =>
  db
    .selectFrom('inbox')
    .leftJoin('turns', 'turns.id', 'inbox.turn_id')
    .select(['inbox.payload', 'inbox.accepted_at', 'turns.ended_at'])
    .where('inbox.seq', '=', p.seq),
)

const selectLastResponse = query((db, p: { session_id: string; turn_id: string }) =>
  db
    .selectFrom('messages')
    .select(['ord', 'content'])
    .where('session_id', '=', p.session_id)
    .where('turn_id', '=', p.turn_id)
    .where('role', '=', 'assistant')
    .orderBy('ord', 'desc')
    .limit(1),
)

const selectKeysByText = query((db, p: ChatParams & { text: string }) =>
  db
    .selectFrom('outbox')
    .select('key')
    .where(({ and }) => and(pick(p, 'platform', 'account', 'chat_id', 'text'))),
)

const selectRefusals = query((db, p: ChatParams & { from: string; to: string }) =>
  db
    .selectFrom('outbox')
    .select('key')
    .where(({ and }) => and(pick(p, 'platform', 'account', 'chat_id')))
    .where('key', '>=', p.from)
    .where('key', '<', p.to),
)

const selectOldest = query((db, _: Record<never, never>) =>
  db.selectFrom('outbox').select('created_at').orderBy('id').limit(1),
)

/**
 * Whether the chat was sent the reply of an event, or is owed none. Replies that the retention has deleted count as sent.
 * @param outcome the result of the event, with a text that is neither empty nor silent
 */
export function* isReplyStored(event: RepliedEvent, outcome: TurnResult): Transaction<boolean> {
  const { seq, lane, turn_id } = event
  const key = lane === 'control' ? `command:${seq}` : `turn:${turn_id}`
  if ((yield* row(selectByKey, { key: `${key}:1` })) !== undefined) return true
  const stored = yield* row(selectEvent, { seq })
  if (stored === undefined) return false
  const { source, task, ...message } = parseStoredEvent(stored.payload)
  const chat = { platform: source.platform, account: source.account, chat_id: source.chatId }
  // The result of a task without a target is sent to no chat.
  if (task?.deliver === null) return true
  if (outcome.errorCode === 'inbox/queue-full') {
    // A program reads the result itself.
    if (!hasWaitingUser(message)) return true
    const notices = yield* rows(selectRefusals, { ...chat, from: 'refused:', to: 'refused;' })
    // One notice reports all messages of a burst, and is named by the last one.
    if (notices.some((notice) => Number(notice.key.split(':')[1]) >= seq)) return true
  }
  if (lane === 'turn' && turn_id !== null && (yield* isEarlierTextStored(turn_id, outcome.sessionId))) return true
  if (lane === 'control') {
    // A question that asks for a confirmation has a message of its own.
    const sent = yield* rows(selectKeysByText, { ...chat, text: outcome.text })
    if (sent.some((reply) => reply.key.startsWith('question:'))) return true
  }
  const oldest = yield* row(selectOldest, {})
  return oldest !== undefined && (stored.ended_at ?? stored.accepted_at) < oldest.created_at
}

/** The last response has no text, so that the text before the last tool calls was the answer. It was sent on its own. */
function* isEarlierTextStored(turn_id: string, session_id: string): Transaction<boolean> {
  const last = yield* row(selectLastResponse, { session_id, turn_id })
  if (last === undefined || last.content.trim() !== '') return false
  const sent = yield* rows(selectEarlierTexts, { from: `turn:${turn_id}:text:`, to: `turn:${turn_id}:text;` })
  return sent.length > 0
}

const selectEarlierTexts = query((db, p: { from: string; to: string }) =>
  db.selectFrom('outbox').select('id').where('key', '>=', p.from).where('key', '<', p.to).limit(1),
)
