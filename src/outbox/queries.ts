/**
 * The rows of the outbox: replies in the order of their chat, and the addresses of live drafts.
 *
 * `openCondition` is literal SQL, because SQLite uses a partial index only where a query repeats the condition of the index
 * word for word. With bound values each query would scan the whole table.
 */
import type { ChatParams } from '../message/chat-range.ts'
import type { Target } from '../message/source.ts'
import { type Db, exec, pick, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { OutboxState } from '../store/schema.ts'

export const openCondition = sql<boolean>`state in ('queued', 'sending', 'unknown')`

/** A chat of one account. Its threads belong to it. */
export interface Chat {
  readonly platform: string
  readonly account: string
  readonly chatId: string
}

export function chatOf({ platform, account, chatId }: Target): Chat {
  return { platform, account, chatId }
}

/** The key of an account in maps. */
export function accountKey(platform: string, account: string): string {
  return `${platform}\n${account}`
}

/** The key of a chat in maps. */
export function chatKey({ platform, account, chatId }: Chat): string {
  return `${platform}\n${account}\n${chatId}`
}

/** The key of the text of a response with tool calls. `ord` is the ordinal of the response in the transcript. */
export function interimReplyKey(turnId: string, ord: number): string {
  return `turn:${turnId}:text:${ord}`
}

/** Whether the key of a row belongs to a text before tool calls. */
export function isInterimKey(key: string): boolean {
  return /^turn:[^:]+:text:\d+:/.test(key)
}

/** The keys of the files that the tools of a turn have sent continue it. */
export function shownFileKey(turnId: string): string {
  return `shown:${turnId}`
}

/** A message to be delivered. */
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
  /** A file in the format of `stored-attachment.ts`. The text replaces it where the platform takes no files. */
  readonly attachment: string | null
  /** `Button[]`, JSON. */
  readonly buttons: string | null
  /** Which call sends the file; see `albums.ts`. */
  readonly album: string | null
  readonly state: OutboxState
  readonly doubt: number
  readonly tries: number
  readonly due_at: number
}

export type NewOutboxRow = Omit<OutboxRow, 'id' | 'album' | 'doubt' | 'tries' | 'due_at'> & {
  readonly platform_id: string | null
}
/** `attachment` and `buttons` are optional. `error`: why the row is not sent. */
type InsertableRow = Omit<NewOutboxRow, 'attachment' | 'buttons'> &
  Partial<Pick<NewOutboxRow, 'attachment' | 'buttons'>> & { readonly error?: string }
type InsertParams = {
  [Field in Exclude<keyof NewOutboxRow, 'state' | 'kind' | 'op'>]: NewOutboxRow[Field]
} & { state: OutboxState; kind: 'reply' | 'notice'; op: 'send' | 'edit'; error: string | null; now: number }

const insert = query((db, p: InsertParams) =>
  db
    .insertInto('outbox')
    .values({
      ...pick(p, 'key', 'platform', 'account', 'chat_id', 'thread_id', 'session_key', 'turn_id'),
      ...pick(p, 'kind', 'op', 'target', 'text', 'reply_to', 'state'),
      due_at: p.now,
      ...pick(p, 'platform_id', 'error', 'attachment', 'buttons'),
      album: null,
      created_at: p.now,
      updated_at: p.now,
    })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning('id'),
)

/** Stores a row and returns its id, or `undefined` when a row with its key exists. */
export function* insertRow(newRow: InsertableRow, now: number): Transaction<number | undefined> {
  return (yield* row(insert, { attachment: null, buttons: null, error: null, ...newRow, now }))?.id
}

export type KeyRange = { from: string; to: string }

/** The keys that continue a key with a colon, such as those of the messages of one reply. `;` follows `:`. */
export const keysUnder = (key: string): KeyRange => ({ from: `${key}:`, to: `${key};` })

export const rowsUnder = (db: Db, p: KeyRange) =>
  db.selectFrom('outbox').where('key', '>=', p.from).where('key', '<', p.to)

const selectShownFiles = query((db, p: KeyRange) => rowsUnder(db, p).select('attachment'))

/** The files that tools of the turn have sent, as stored. */
export function* findShownFiles(turnId: string): Transaction<readonly string[]> {
  const records = yield* rows(selectShownFiles, keysUnder(shownFileKey(turnId)))
  return records.flatMap(({ attachment }) => attachment ?? [])
}

const rowColumns = [
  ...(['id', 'key', 'platform', 'account', 'chat_id', 'thread_id', 'session_key', 'turn_id', 'kind', 'op'] as const),
  ...(['target', 'text', 'reply_to', 'attachment', 'buttons', 'album', 'state', 'doubt', 'tries', 'due_at'] as const),
]

export const rowsOfChat = (db: Db, p: ChatParams) =>
  db.selectFrom('outbox').where(({ and }) => and(pick(p, 'platform', 'account', 'chat_id')))

const selectHead = query((db, p: ChatParams) =>
  rowsOfChat(db, p).select(rowColumns).where(openCondition).orderBy('id').limit(1),
)

/** The oldest open row of a chat. */
export function* findHeadOfChat({ platform, account, chatId }: Chat): Transaction<OutboxRow | undefined> {
  return yield* row(selectHead, { platform, account, chat_id: chatId })
}

const selectFollowing = query((db, p: ChatParams & { id: number; limit: number }) =>
  rowsOfChat(db, p).select(rowColumns).where('id', '>', p.id).where(openCondition).orderBy('id').limit(p.limit),
)

/** The open rows of the same chat behind a row, oldest first. */
export function* listFollowingRows(
  { id, platform, account, chat_id }: OutboxRow,
  limit: number,
): Transaction<readonly OutboxRow[]> {
  return yield* rows(selectFollowing, { id, platform, account, chat_id, limit })
}

const markSending = query((db, p: { id: number; now: number }) =>
  db.updateTable('outbox').set({ state: 'sending', updated_at: p.now }).where('id', '=', p.id),
)

/** After this is stored, the platform may receive the row even if the gateway crashes. */
export function* claimRow(id: number, now: number): Transaction<void> {
  yield* exec(markSending, { id, now })
}

const setAlbum = query((db, p: { id: number; album: string }) =>
  db.updateTable('outbox').set({ album: p.album }).where('id', '=', p.id),
)

/** Stores which call sends the file of a row. */
export function* assignAlbum(id: number, album: string): Transaction<void> {
  yield* exec(setAlbum, { id, album })
}

/** The new values of a row after an attempt. */
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
  /** Replaces the text of a row whose file cannot be sent. */
  readonly replacementText?: string
  /** Replaces the call of a row that leaves its album. */
  readonly album?: string
  /** The chat takes no messages any more. */
  readonly chatGone?: true
}
type ResultParams = Omit<DeliveryResult, 'replacementText' | 'album' | 'chatGone'> & { now: number }

const updateResult = query((db, p: ResultParams) =>
  db
    .updateTable('outbox')
    .set({
      ...pick(p, 'state', 'op', 'target', 'doubt', 'tries', 'due_at', 'platform_id', 'error'),
      updated_at: p.now,
    })
    .where('id', '=', p.id),
)

const replaceAttachment = query((db, p: { id: number; text: string }) =>
  db.updateTable('outbox').set({ text: p.text, attachment: null }).where('id', '=', p.id),
)

export function* storeDeliveryResult(
  { replacementText, album, chatGone: _, ...columns }: DeliveryResult,
  now: number,
): Transaction<void> {
  yield* exec(updateResult, { ...columns, now })
  if (album !== undefined) yield* assignAlbum(columns.id, album)
  if (replacementText !== undefined) yield* exec(replaceAttachment, { id: columns.id, text: replacementText })
}

const recoverOrphans = query((db, p: { max_tries: number; now: number }) =>
  db
    .updateTable('outbox')
    .set({
      // An edit can be repeated without harm. It is unknown whether a send has reached the platform.
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
 * Makes the rows of an account due now that would be due after `from` (ms). Rows that were last tried before `since` are
 * left out: their due time may come from a rate limit before a restart, which the rate limiter does not know.
 */
export function* expediteRows(
  selection: { platform: string; account: string; from: number; since: number },
  now: number,
): Transaction<void> {
  yield* exec(expedite, { ...selection, now })
}

/**
 * Recovers from a crash: rows in flight become `unknown`, which counts as a try, or dead letters. Returns every chat with
 * open rows, and the new dead letters.
 */
export function* recoverRows(maxTries: number, now: number) {
  const orphans = yield* rows(recoverOrphans, { max_tries: maxTries, now })
  const openRows = yield* rows(selectOpenChats, {})
  return {
    chats: openRows.map(({ platform, account, chat_id }): Chat => ({ platform, account, chatId: chat_id })),
    deadLetters: orphans.filter(({ state }) => state === 'dead'),
  }
}

const selectOldestFinished = query((db, p: { limit: number }) =>
  db
    .selectFrom('outbox')
    .select(['id', 'created_at'])
    // True for every row. Makes SQLite walk the primary key from the oldest row and stop at the limit.
    .where('id', '>', 0)
    .where('state', 'in', ['sent', 'dead', 'dropped'])
    .orderBy('id')
    .limit(p.limit),
)

const deleteRows = query((db, p: { id: number }) =>
  db.deleteFrom('outbox').where('id', '<=', p.id).where('state', 'in', ['sent', 'dead', 'dropped']).returning('id'),
)

const deleteDrafts = query((db, p: { before: number }) => db.deleteFrom('drafts').where('created_at', '<', p.before))

/** Deletes the oldest finished rows created before `olderThan` (ms), at most `limit`; returns how many. */
export function* pruneOutbox(olderThan: number, limit: number): Transaction<number> {
  yield* exec(deleteDrafts, { before: olderThan })
  const first = yield* rows(selectOldestFinished, { limit })
  const last = first.findLast(({ created_at }) => created_at < olderThan)
  return last === undefined ? 0 : (yield* rows(deleteRows, { id: last.id })).length
}

/** The address of a draft. A turn has one for each text that it shows. */
export interface StoredDraft {
  readonly turn_id: string
  readonly part: number
  readonly platform_id: string
}

const selectDrafts = query((db, _: Record<never, never>) =>
  db.selectFrom('drafts').select(['turn_id', 'part', 'platform_id']),
)

const upsertDraft = query(
  (db, p: { [Field in keyof StoredDraft]: StoredDraft[Field] } & ChatParams & { now: number }) =>
    db
      .insertInto('drafts')
      .values({
        ...pick(p, 'turn_id', 'part', 'platform', 'account', 'chat_id', 'platform_id'),
        created_at: p.now,
      })
      .onConflict((conflict) =>
        conflict.columns(['turn_id', 'part']).doUpdateSet({ platform_id: p.platform_id, created_at: p.now }),
      ),
)

const deleteDraftByPart = query((db, p: { turn_id: string; part: number }) =>
  db.deleteFrom('drafts').where('turn_id', '=', p.turn_id).where('part', '=', p.part),
)

/** The addresses of all drafts whose turns have not ended. */
export function* listDrafts(): Transaction<readonly StoredDraft[]> {
  return yield* rows(selectDrafts, {})
}

/** Stores the address of a draft, not its text: the final reply replaces the draft also after a crash. */
export function* storeDraft(draft: StoredDraft, { platform, account, chatId }: Chat, now: number): Transaction<void> {
  yield* exec(upsertDraft, { ...draft, platform, account, chat_id: chatId, now })
}

/** Called when a reply has taken the address over. */
export function* deleteDraft(turnId: string, part: number): Transaction<void> {
  yield* exec(deleteDraftByPart, { turn_id: turnId, part })
}

const selectOpenAttachments = query((db, _: object) =>
  db
    .selectFrom('outbox')
    .select('attachment')
    .where('state', 'in', ['queued', 'sending'])
    .where('attachment', 'is not', null),
)

/** The attachments that are still to be sent, as in the column. */
export function* findOpenAttachments(): Transaction<readonly string[]> {
  return (yield* rows(selectOpenAttachments, {})).map(({ attachment }) => attachment ?? '')
}

const selectPlatformId = query((db, p: KeyRange) =>
  rowsUnder(db, p).select('platform_id').where('buttons', 'is not', null).where('platform_id', 'is not', null).limit(1),
)

/** The platform's id of the message that shows the buttons of a reply (`Reply.key`); `undefined` until it is sent. */
export function* findButtonsMessageId(replyKey: string): Transaction<string | undefined> {
  const delivered = yield* row(selectPlatformId, keysUnder(replyKey))
  return delivered?.platform_id ?? undefined
}
