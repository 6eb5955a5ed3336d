/**
 * Chats that no longer take messages (contract §3.11): the platform has answered that the chat does not exist, or that the bot
 * was blocked or removed. What no one in the chat has asked for is not sent there, until a message from the chat or a
 * delivered message shows that it works again, or a person asks for another try.
 */
import type { ChatParams } from '../message/chat-range.ts'
import { type Db, exec, pick, query, row, type Transaction } from '../store/query.ts'
import type { Chat } from './queries.ts'

export interface DeadTarget {
  /** What the platform answered. */
  readonly reason: string
  /** ms since 1970. */
  readonly since: number
}

const newestEvent = query((db, p: ChatParams) =>
  db
    .selectFrom('inbox')
    .select('seq as id')
    .where(({ and }) => and(pick(p, 'platform', 'account', 'chat_id')))
    .orderBy('seq', 'desc')
    .limit(1),
)

const idsOfChat = (db: Db, p: ChatParams) =>
  db
    .selectFrom('outbox')
    .select('id')
    .where(({ and }) => and(pick(p, 'platform', 'account', 'chat_id')))

const newestRow = query((db, p: ChatParams) => idsOfChat(db, p).orderBy('id', 'desc').limit(1))

const newestDelivered = query((db, p: ChatParams & { after: number }) =>
  idsOfChat(db, p).where('id', '>', p.after).where('state', '=', 'sent').limit(1),
)

const insertDead = query(
  (db, p: ChatParams & { reason: string; last_seq: number; last_outbox: number; since: number }) =>
    db
      .insertInto('dead_targets')
      .values(pick(p, 'platform', 'account', 'chat_id', 'reason', 'last_seq', 'last_outbox', 'since'))
      .onConflict((conflict) =>
        conflict
          .columns(['platform', 'account', 'chat_id'])
          .doUpdateSet({ reason: p.reason, last_seq: p.last_seq, last_outbox: p.last_outbox, since: p.since }),
      ),
)

const selectDead = query((db, p: ChatParams) =>
  db
    .selectFrom('dead_targets')
    .select(['reason', 'since', 'last_seq', 'last_outbox'])
    .where(({ and }) => and(pick(p, 'platform', 'account', 'chat_id'))),
)

const deleteDead = query((db, p: ChatParams) =>
  db.deleteFrom('dead_targets').where(({ and }) => and(pick(p, 'platform', 'account', 'chat_id'))),
)

/** Stores that a chat takes no messages any more. */
export function* markDeadTarget(chat: Chat, reason: string, now: number): Transaction<void> {
  const params = paramsOf(chat)
  const last_seq = (yield* row(newestEvent, params))?.id ?? 0
  const last_outbox = (yield* row(newestRow, params))?.id ?? 0
  yield* exec(insertDead, { ...params, reason, last_seq, last_outbox, since: now })
}

/** The mark of a chat; undefined for a chat that works. Removes a mark that no longer holds. */
export function* findDeadTarget(chat: Chat): Transaction<DeadTarget | undefined> {
  const params = paramsOf(chat)
  const dead = yield* row(selectDead, params)
  if (dead === undefined) return undefined
  const event = yield* row(newestEvent, params)
  const isAlive =
    (event?.id ?? 0) > dead.last_seq ||
    (yield* row(newestDelivered, { ...params, after: dead.last_outbox })) !== undefined
  if (!isAlive) return { reason: dead.reason, since: dead.since }
  yield* exec(deleteDead, params)
  return undefined
}

/** The next message to this chat is sent again. */
export function* forgetDeadTarget(chat: Chat): Transaction<void> {
  yield* exec(deleteDead, paramsOf(chat))
}

function paramsOf({ platform, account, chatId: chat_id }: Chat): ChatParams {
  return { platform, account, chat_id }
}
