/**
 * What the outbox keeps on disk: replies in the order of their chat, and the addresses of drafts.
 *
 * The condition `open` is written as literal SQL because SQLite uses a partial index only where a query repeats the
 * index's own condition word for word; bound values would turn every look into a scan of the whole table.
 */
import { exec, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { OutboxState } from '../store/schema.ts'

const openCondition = sql<boolean>`state in ('queued', 'sending', 'unknown')`

/** A chat of one account; its threads share it. */
export interface Chat {
  readonly platform: string
  readonly account: string
  readonly chatId: string
}

/** One message on its way. */
export interface OutboxRow {
  readonly id: number
  readonly key: string
  readonly platform: string
  readonly account: string
  readonly chat_id: string
  readonly thread_id: string
  readonly session_key: string | null
  readonly turn_id: string | null
  readonly kind: 'reply' | 'notice'
  readonly op: 'send' | 'edit'
  readonly target: string | null
  readonly text: string
  readonly reply_to: string | null
  /** A file, as `stored-attachment.ts` writes it; the text stands for it where it cannot be shown. */
  readonly attachment: string | null
  /** As `stored-buttons.ts` writes them. */
  readonly buttons: string | null
  readonly state: OutboxState
  readonly doubt: number
  readonly tries: number
  readonly due_at: number
}

export type NewOutboxRow = Omit<OutboxRow, 'id' | 'doubt' | 'tries' | 'due_at'> & {
  readonly platform_id: string | null
}
/** Files and buttons may be left out where there are none. */
type InsertableRow = Omit<NewOutboxRow, 'attachment' | 'buttons'> &
  Partial<Pick<NewOutboxRow, 'attachment' | 'buttons'>>
type InsertParams = {
  [Field in Exclude<keyof NewOutboxRow, 'state' | 'kind' | 'op'>]: NewOutboxRow[Field]
} & { state: OutboxState; kind: 'reply' | 'notice'; op: 'send' | 'edit'; now: number }

const insert = query((db, p: InsertParams) =>
  db
    .insertInto('outbox')
    .values({
      key: p.key,
      platform: p.platform,
      account: p.account,
      chat_id: p.chat_id,
      thread_id: p.thread_id,
      session_key: p.session_key,
      turn_id: p.turn_id,
      kind: p.kind,
      op: p.op,
      target: p.target,
      text: p.text,
      reply_to: p.reply_to,
      state: p.state,
      due_at: p.now,
      platform_id: p.platform_id,
      error: null,
      attachment: p.attachment,
      buttons: p.buttons,
      created_at: p.now,
      updated_at: p.now,
    })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning('id'),
)

/** Stores a row and returns its id, or undefined when one of its key exists already. */
export function* insertRow(of: InsertableRow, now: number): Transaction<number | undefined> {
  return (yield* row(insert, { attachment: null, buttons: null, ...of, now }))?.id
}

type ChatParams = { platform: string; account: string; chat_id: string }

const selectHead = query((db, p: ChatParams) =>
  db
    .selectFrom('outbox')
    .select(['id', 'key', 'platform', 'account', 'chat_id', 'thread_id', 'session_key', 'turn_id', 'kind', 'op'])
    .select(['target', 'text', 'reply_to', 'attachment', 'buttons', 'state', 'doubt', 'tries', 'due_at'])
    .where('platform', '=', p.platform)
    .where('account', '=', p.account)
    .where('chat_id', '=', p.chat_id)
    .where(openCondition)
    .orderBy('id')
    .limit(1),
)

/** The oldest row of a chat that is not finished. */
export function* findHeadOfChat({ platform, account, chatId }: Chat): Transaction<OutboxRow | undefined> {
  return yield* row(selectHead, { platform, account, chat_id: chatId })
}

const markSending = query((db, p: { id: number; now: number }) =>
  db.updateTable('outbox').set({ state: 'sending', updated_at: p.now }).where('id', '=', p.id),
)

/** From here on the platform may have the row, whatever happens to us. */
export function* claimRow(id: number, now: number): Transaction<void> {
  yield* exec(markSending, { id, now })
}

/** What has become of a row; written over its old values. */
export interface DeliveryResult {
  readonly id: number
  readonly state: OutboxState
  readonly op: 'send' | 'edit'
  readonly target: string | null
  readonly doubt: number
  readonly tries: number
  readonly due_at: number
  readonly platform_id: string | null
  readonly error: string | null
  /** The row's file does not go out: this is said in its place. */
  readonly replacementText?: string
}
type ResultParams = Omit<DeliveryResult, 'replacementText'> & { now: number }

const updateResult = query((db, p: ResultParams) =>
  db
    .updateTable('outbox')
    .set({
      state: p.state,
      op: p.op,
      target: p.target,
      doubt: p.doubt,
      tries: p.tries,
      due_at: p.due_at,
      platform_id: p.platform_id,
      error: p.error,
      updated_at: p.now,
    })
    .where('id', '=', p.id),
)

const replaceAttachment = query((db, p: { id: number; text: string }) =>
  db.updateTable('outbox').set({ text: p.text, attachment: null }).where('id', '=', p.id),
)

export function* storeDeliveryResult(
  { replacementText: instead, ...settlement }: DeliveryResult,
  now: number,
): Transaction<void> {
  yield* exec(updateResult, { ...settlement, now })
  if (instead !== undefined) yield* exec(replaceAttachment, { id: settlement.id, text: instead })
}

const recoverOrphans = query((db, p: { max_tries: number; now: number }) =>
  db
    .updateTable('outbox')
    .set({
      // An edit may be repeated; a send may have arrived, and nobody knows.
      state: sql<OutboxState>`case when tries + 1 >= ${p.max_tries} then 'dead' when op = 'edit' then 'queued' else 'unknown' end`,
      doubt: sql<number>`case when op = 'edit' then doubt else 1 end`,
      tries: sql<number>`tries + 1`,
      due_at: p.now,
      error: 'the gateway ended while it was being sent',
      updated_at: p.now,
    })
    .where(openCondition)
    .where('state', '=', 'sending')
    .returning(['key', 'platform', 'account', 'chat_id', 'thread_id', 'session_key', 'kind', 'text', 'error', 'state']),
)

const selectOpenChats = query((db, _: Record<never, never>) =>
  db.selectFrom('outbox').select(['platform', 'account', 'chat_id']).distinct().where(openCondition),
)

const expedite = query((db, p: { platform: string; account: string; now: number; from: number; since: number }) =>
  db
    .updateTable('outbox')
    .set({ due_at: p.now })
    .where('platform', '=', p.platform)
    .where('account', '=', p.account)
    .where(openCondition)
    .where('state', '!=', 'sending')
    .where('due_at', '>', p.from)
    .where('updated_at', '>=', p.since),
)

/**
 * Rows of an account that would wait beyond `from` (ms) become due now, if their last try was not before `since`: a limit
 * that was told before a restart is known by the row alone.
 */
export function* expediteRows(
  of: { platform: string; account: string; from: number; since: number },
  now: number,
): Transaction<void> {
  yield* exec(expedite, { ...of, now })
}

/**
 * After a crash: rows left in flight become `unknown` (a try each) or are given up. Returns every chat with open rows, and
 * what was given up.
 */
export function* recoverRows(maxTries: number, now: number) {
  const orphans = yield* rows(recoverOrphans, { max_tries: maxTries, now })
  const openRows = yield* rows(selectOpenChats, {})
  return {
    chats: openRows.map(({ platform, account, chat_id }): Chat => ({ platform, account, chatId: chat_id })),
    givenUp: orphans.filter(({ state }) => state === 'dead'),
  }
}

const selectOldestFinished = query((db, p: { limit: number }) =>
  db
    .selectFrom('outbox')
    .select(['id', 'created_at'])
    // Every number is above 0: a walk from the oldest on that ends at the limit.
    .where('id', '>', 0)
    .where('state', 'in', ['sent', 'dead', 'dropped'])
    .orderBy('id')
    .limit(p.limit),
)

const deleteRows = query((db, p: { id: number }) =>
  db.deleteFrom('outbox').where('id', '<=', p.id).where('state', 'in', ['sent', 'dead', 'dropped']).returning('id'),
)

const deleteDrafts = query((db, p: { before: number }) => db.deleteFrom('drafts').where('created_at', '<', p.before))

/** Forgets finished rows made before `olderThan` (ms), those that came first, at most `limit`; returns how many went. */
export function* pruneOutbox(olderThan: number, limit: number): Transaction<number> {
  yield* exec(deleteDrafts, { before: olderThan })
  const first = yield* rows(selectOldestFinished, { limit })
  const last = first.findLast(({ created_at }) => created_at < olderThan)
  return last === undefined ? 0 : (yield* rows(deleteRows, { id: last.id })).length
}
