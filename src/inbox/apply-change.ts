/**
 * What an edit or a deletion does to the rows of the inbox: one transaction each, so that no turn can begin
 * between the look and the write.
 */
import type { Attachment, MessageEvent } from '../message/event.ts'
import type { TurnResult } from '../message/turn-result.ts'
import { exec, query, row, type Transaction } from '../store/query.ts'
import type { InboxState } from '../store/schema.ts'
import { addKeys, findSeqByKeys, insertEvent } from './queries.ts'
import { parseStoredEvent } from './stored-event.ts'
import { addTraceEntry } from './trace.ts'

const selectBySeq = query((db, p: { seq: number }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'state', 'session_key', 'lane', 'platform', 'account', 'chat_id', 'turn_id', 'payload'])
    .where('seq', '=', p.seq),
)

/** An event as it lies on disk. */
export interface InboxRow {
  readonly seq: number
  readonly state: InboxState
  readonly session_key: string
  readonly lane: 'turn' | 'control'
  readonly platform: string
  readonly account: string
  readonly chat_id: string
  readonly turn_id: string | null
  readonly payload: string
}

/** The event of this name: of several versions, the newest. */
export function* findRowByKey(key: string): Transaction<InboxRow | undefined> {
  const seq = yield* findSeqByKeys([key])
  return seq === undefined ? undefined : yield* row(selectBySeq, { seq })
}

/** What became of an edit. `lane`: somebody has to be woken there. */
export type EditResult =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'duplicate'; readonly seq: number }
  /** Nothing was to be done beyond a note: it was read already, or edits are ignored, or the words are the same. */
  | { readonly kind: 'ignored' | 'unchanged' | 'noted'; readonly seq: number }
  | { readonly kind: 'amended'; readonly seq: number }
  | {
      readonly kind: 'appended'
      readonly seq: number
      readonly sessionKey: string
      readonly lane: 'turn' | 'control'
      /** The version before, when it had not been read: it has been taken back. */
      readonly withdrawn?: number
    }

export interface Edit {
  readonly targetKey: string
  readonly keys: readonly string[]
  readonly event: MessageEvent
  /** Where a message that reads like this belongs. */
  readonly lane: 'turn' | 'control'
  readonly policy: 'ignore' | 'amend' | 'rerun'
  /** What waiters of a version that was taken back are told. */
  readonly withdrawnResult: TurnResult
  /** To JSON. Throws `inbox/too-large`. */
  serialize(event: MessageEvent): string
}

/** Never touches what an agent has read already: then it is a note, or a message of its own behind the others. */
export function* applyEdit(edit: Edit, now: number): Transaction<EditResult> {
  const { targetKey, keys, event, lane, policy } = edit
  const known = yield* findSeqByKeys(keys)
  if (known !== undefined) return { kind: 'duplicate', seq: known }
  const found = yield* findRowByKey(targetKey)
  if (found === undefined) return { kind: 'unknown' }
  const { seq, state } = found
  const before = parseStoredEvent(found.payload)
  if (before.text === event.text.toWellFormed()) return { kind: 'unchanged', seq }

  if (policy !== 'ignore' && state === 'queued') {
    const amended = amendedEvent(before, event)
    if (lane !== found.lane) return yield* replaceRow(found, amended, edit, now)
    yield* exec(rewrite, { seq, kind: amended.messageType, payload: edit.serialize(amended) })
    yield* addKeys(keys, seq)
    return { kind: 'amended', seq }
  }
  if (policy === 'rerun') return yield* appendRow(found, event, edit, now)
  yield* addKeys(keys, seq)
  if (policy === 'ignore') return { kind: 'ignored', seq }
  yield* addTraceEntry(
    found,
    'message:edited',
    `message ${seq} was edited after it had been taken up: ${event.text}`,
    now,
  )
  return { kind: 'noted', seq }
}

const rewrite = query((db, p: { seq: number; kind: string; payload: string }) =>
  db
    .updateTable('inbox')
    .set({ kind: p.kind, payload: p.payload })
    .where('seq', '=', p.seq)
    .where('state', '=', 'queued'),
)

/** The same message with other words and files; where it stands and what it answers does not change by an edit. */
function amendedEvent({ attachments, ...before }: MessageEvent, now: MessageEvent): MessageEvent {
  const { text, messageType, allowGatewayControl } = now
  return {
    ...before,
    text,
    messageType,
    ...(allowGatewayControl === undefined ? {} : { allowGatewayControl }),
    ...(now.attachments === undefined ? {} : { attachments: reuseFetchedFiles(now.attachments, attachments ?? []) }),
  }
}

/** Files that have been fetched, or could not be, are not fetched again because the words beside them changed. */
function reuseFetchedFiles(wanted: readonly Attachment[], known: readonly Attachment[]): readonly Attachment[] {
  return wanted.map((file) => known.find((one) => isFetched(one) && isSameFile(one, file)) ?? file)
}

function isFetched({ path, problem }: Attachment): boolean {
  return path !== undefined || problem !== undefined
}

function isSameFile(one: Attachment, other: Attachment): boolean {
  return one.ref === other.ref && one.url === other.url && (one.ref ?? one.url) !== undefined
}

/** Files of a message that still waits have been fetched, or could not be; an edit in between may have named others. */
export function* attachFiles(seq: number, files: readonly Attachment[]): Transaction<void> {
  const found = yield* row(selectBySeq, { seq })
  if (found?.state !== 'queued') return
  const { attachments = [], ...event } = parseStoredEvent(found.payload)
  const payload = JSON.stringify({ ...event, attachments: reuseFetchedFiles(attachments, files) })
  yield* exec(rewrite, { seq, kind: event.messageType, payload })
}

/** An edit that turned words into a command, or back: it belongs to another lane, behind what waits there. */
function* replaceRow(found: InboxRow, event: MessageEvent, edit: Edit, now: number): Transaction<EditResult> {
  yield* withdrawRow(found.seq, 'an edit made another message of it', edit.withdrawnResult)
  return { ...(yield* appendRow(found, event, edit, now)), withdrawn: found.seq }
}

function* appendRow(found: InboxRow, event: MessageEvent, { keys, lane, serialize }: Edit, now: number) {
  const { session_key: sessionKey, platform, account, chat_id: chatId } = found
  const payload = serialize(event)
  const seq = yield* insertEvent({ sessionKey, lane, kind: event.messageType, platform, account, chatId, payload }, now)
  // The next edit, or a deletion, means this version.
  yield* exec(moveKeys, { from: found.seq, to: seq })
  yield* addKeys(keys, seq)
  return { kind: 'appended' as const, seq, sessionKey, lane }
}

const moveKeys = query((db, p: { from: number; to: number }) =>
  db.updateTable('inbox_keys').set({ seq: p.to }).where('seq', '=', p.from),
)

/** What became of a deletion. */
export type DeletionResult =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'duplicate' | 'withdrawn' | 'noted'; readonly seq: number }

/** A message that waits is taken back; of one that has been read, the deletion is noted. */
export function* applyDeletion(
  { targetKey: of, keys, withdrawnResult: outcome }: Pick<Edit, 'targetKey' | 'keys' | 'withdrawnResult'>,
  now: number,
): Transaction<DeletionResult> {
  const known = yield* findSeqByKeys(keys)
  if (known !== undefined) return { kind: 'duplicate', seq: known }
  const found = yield* findRowByKey(of)
  if (found === undefined) return { kind: 'unknown' }
  const { seq, state } = found
  yield* addKeys(keys, seq)
  const waits = state === 'queued'
  if (waits) yield* withdrawRow(seq, 'it was deleted before it was read', outcome)
  const when = waits ? 'before it was read; it is not answered' : 'after it had been taken up'
  yield* addTraceEntry(found, 'message:deleted', `message ${seq} was deleted ${when}`, now)
  return { kind: waits ? 'withdrawn' : 'noted', seq }
}

const markWithdrawn = query((db, p: { seq: number; reason: string; outcome: string }) =>
  db
    .updateTable('inbox')
    .set({ state: 'dropped', reason: p.reason, outcome: p.outcome })
    .where('seq', '=', p.seq)
    .where('state', '=', 'queued'),
)

function* withdrawRow(seq: number, reason: string, outcome: TurnResult): Transaction<void> {
  yield* exec(markWithdrawn, { seq, reason, outcome: JSON.stringify(outcome) })
}
