/**
 * Applies edits and deletions to the rows of the inbox. Each is one transaction, so that no turn can begin between the
 * check and the write.
 */
import type { Attachment, MessageEvent } from '../message/event.ts'
import type { QueueKind } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { TurnResult } from '../message/turn-result.ts'
import { exec, query, row, type Transaction } from '../store/query.ts'
import type { InboxState } from '../store/schema.ts'
import { addKeys, detachFollowing, findSeqByKeys, insertEvent } from './queries.ts'
import { parseStoredEvent } from './stored-event.ts'
import { addTraceEntry } from './trace.ts'

const selectBySeq = query((db, p: { seq: number }) =>
  db
    .selectFrom('inbox')
    .select([
      'seq',
      'state',
      'session_key',
      'lane',
      'platform',
      'account',
      'chat_id',
      'turn_id',
      'payload',
      'available_at',
    ])
    .where('seq', '=', p.seq),
)

/** A stored event. */
export interface InboxRow {
  readonly seq: number
  readonly state: InboxState
  readonly session_key: string
  readonly lane: QueueKind
  readonly platform: string
  readonly account: string
  readonly chat_id: string
  readonly turn_id: string | null
  readonly payload: string
  /** The event is not processed before this time, ms. */
  readonly available_at: number
}

/** The event with this key; of several versions, the newest. */
export function* findRowByKey(key: string): Transaction<InboxRow | undefined> {
  const seq = yield* findSeqByKeys([key])
  return seq === undefined ? undefined : yield* row(selectBySeq, { seq })
}

/** The effect of an edit. `lane`: the queue that must be woken. */
export type EditResult =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'duplicate'; readonly seq: number }
  /** The event is unchanged: edits are ignored, the text is the same, or the event was claimed and a trace entry added. */
  | { readonly kind: 'ignored' | 'unchanged' | 'noted'; readonly seq: number }
  | { readonly kind: 'amended'; readonly seq: number }
  | {
      readonly kind: 'appended'
      readonly seq: number
      readonly sessionKey: string
      readonly lane: QueueKind
      /** The previous version, which was still queued and has been withdrawn. */
      readonly withdrawn?: number
    }

export interface Edit {
  readonly targetKey: string
  readonly keys: readonly string[]
  readonly event: MessageEvent
  /** The queue of the edited message. */
  readonly lane: QueueKind
  readonly policy: 'ignore' | 'amend' | 'rerun'
  /** The result of a withdrawn version. */
  readonly withdrawnResult: TurnResult
  /** To JSON. Throws `inbox/too-large`. */
  serialize(event: MessageEvent): string
}

/** Never changes an event that was claimed: it adds a trace entry instead, or a new event at the end of the queue. */
export function* applyEdit(edit: Edit, now: number): Transaction<EditResult> {
  const { targetKey, keys, event, lane, policy } = edit
  const known = yield* findSeqByKeys(keys)
  if (known !== undefined) return { kind: 'duplicate', seq: known }
  const row = yield* findRowByKey(targetKey)
  if (row === undefined) return { kind: 'unknown' }
  const { seq, state } = row
  const before = parseStoredEvent(row.payload)
  if (before.text === event.text.toWellFormed()) return { kind: 'unchanged', seq }

  if (policy !== 'ignore' && state === 'queued') {
    const amended = amendedEvent(before, event)
    if (lane !== row.lane) return yield* replaceRow(row, amended, edit, now)
    yield* exec(rewrite, { seq, kind: amended.messageType, payload: edit.serialize(amended) })
    yield* addKeys(keys, seq)
    return { kind: 'amended', seq }
  }
  if (policy === 'rerun') return yield* appendRow(row, event, edit, now)
  yield* addKeys(keys, seq)
  if (policy === 'ignore') return { kind: 'ignored', seq }
  yield* addTraceEntry(
    row,
    'message:edited',
    `message ${seq} was edited after its processing began: ${event.text}`,
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

/** The event with the edited text and files. An edit changes neither its chat nor the message that it replies to. */
function amendedEvent({ attachments, ...stored }: MessageEvent, edited: MessageEvent): MessageEvent {
  const { busyMode, allowGatewayControl: wasAllowed, ...before } = stored
  const { text, messageType, allowGatewayControl, authority } = edited
  return {
    ...before,
    source: withAuthor(before.source, edited.source),
    // What `/queue` has put off is edited as the command that was typed.
    ...(busyMode === undefined && wasAllowed !== undefined ? { allowGatewayControl: wasAllowed } : {}),
    // The text is now that of the sender of the edit.
    ...(authority === undefined ? {} : { authority }),
    text,
    messageType,
    ...(allowGatewayControl === undefined ? {} : { allowGatewayControl }),
    ...(edited.attachments === undefined
      ? {}
      : { attachments: reuseFetchedFiles(edited.attachments, attachments ?? []) }),
  }
}

/** Where others may edit a message, its text must not bear the name of its former author. */
function withAuthor(source: SessionSource, { userId, userIdAlt, userName }: SessionSource): SessionSource {
  if (userId === source.userId) return source
  const { userId: _, userIdAlt: __, userName: ___, ...place } = source
  return {
    ...place,
    userId,
    userIdAlt,
    userName,
  }
}

/** A file that was downloaded, or could not be, is not downloaded again after an edit of the text. */
function reuseFetchedFiles(files: readonly Attachment[], known: readonly Attachment[]): readonly Attachment[] {
  return files.map((file) => known.find((attachment) => isFetched(attachment) && isSameFile(attachment, file)) ?? file)
}

function isFetched({ path, problem }: Attachment): boolean {
  return path !== undefined || problem !== undefined
}

function isSameFile(a: Attachment, b: Attachment): boolean {
  const isRemote = (a.ref ?? a.url) !== undefined
  const isSamePath = a.path !== undefined && a.path === b.path
  return a.ref === b.ref && a.url === b.url && (isRemote || isSamePath)
}

/** Stores the downloads of a queued message. An edit during the download may have replaced some of the files. */
export function* attachFiles(seq: number, files: readonly Attachment[]): Transaction<void> {
  const stored = yield* row(selectBySeq, { seq })
  if (stored?.state !== 'queued') return
  const { attachments = [], ...event } = parseStoredEvent(stored.payload)
  const payload = JSON.stringify({ ...event, attachments: reuseFetchedFiles(attachments, files) })
  yield* exec(rewrite, { seq, kind: event.messageType, payload })
}

/** With its skills the message is one for the model, whatever it begins with. */
export function* attachSkills(seq: number, skills: string): Transaction<void> {
  const stored = yield* row(selectBySeq, { seq })
  if (stored?.state !== 'queued') return
  const event = parseStoredEvent(stored.payload)
  const payload = JSON.stringify({ ...event, skills, ...(skills === '' ? {} : { allowGatewayControl: false }) })
  yield* exec(rewrite, { seq, kind: event.messageType, payload })
}

/** An edit turned a text into a command, or the reverse: the event moves to the end of the other queue. */
function* replaceRow(row: InboxRow, event: MessageEvent, edit: Edit, now: number): Transaction<EditResult> {
  yield* withdrawRow(row, 'an edit moved it to another queue', edit.withdrawnResult)
  return { ...(yield* appendRow(row, event, edit, now)), withdrawn: row.seq }
}

function* appendRow(row: InboxRow, event: MessageEvent, { keys, lane, serialize }: Edit, now: number) {
  const { session_key: sessionKey, platform, account, chat_id: chatId } = row
  const payload = serialize(event)
  const seq = yield* insertEvent({ sessionKey, lane, kind: event.messageType, platform, account, chatId, payload }, now)
  // A later edit or deletion refers to this version.
  yield* exec(moveKeys, { from: row.seq, to: seq })
  yield* addKeys(keys, seq)
  return { kind: 'appended' as const, seq, sessionKey, lane }
}

const moveKeys = query((db, p: { from: number; to: number }) =>
  db.updateTable('inbox_keys').set({ seq: p.to }).where('seq', '=', p.from),
)

/** Edits and deletions of the event `from` concern the event `to` from now on. */
export function* moveEventKeys(from: number, to: number): Transaction<void> {
  yield* exec(moveKeys, { from, to })
}

/** The effect of a deletion. */
export type DeletionResult =
  | { readonly kind: 'unknown' }
  /** `waiting`: its turn has begun and waits for its next attempt. */
  | { readonly kind: 'duplicate' | 'withdrawn' | 'waiting' | 'noted'; readonly seq: number }

/** Withdraws a queued message. For any other message, the deletion is only added to the trace. */
export function* applyDeletion(
  { targetKey, keys, withdrawnResult }: Pick<Edit, 'targetKey' | 'keys' | 'withdrawnResult'>,
  now: number,
): Transaction<DeletionResult> {
  const known = yield* findSeqByKeys(keys)
  if (known !== undefined) return { kind: 'duplicate', seq: known }
  const row = yield* findRowByKey(targetKey)
  if (row === undefined) return { kind: 'unknown' }
  const { seq, state } = row
  yield* addKeys(keys, seq)
  const isQueued = state === 'queued'
  if (isQueued) yield* withdrawRow(row, 'it was deleted before its processing began', withdrawnResult)
  const when = isQueued ? 'before its processing began; it is not answered' : 'after its processing began'
  yield* addTraceEntry(row, 'message:deleted', `message ${seq} was deleted ${when}`, now)
  if (isQueued) return { kind: 'withdrawn', seq }
  return { kind: state === 'claimed' && row.available_at > now ? 'waiting' : 'noted', seq }
}

const markWithdrawn = query((db, p: { seq: number; reason: string; outcome: string }) =>
  db
    .updateTable('inbox')
    .set({ state: 'dropped', reason: p.reason, outcome: p.outcome })
    .where('seq', '=', p.seq)
    .where('state', '=', 'queued'),
)

function* withdrawRow({ seq, session_key }: InboxRow, reason: string, result: TurnResult): Transaction<void> {
  yield* detachFollowing(seq, session_key)
  yield* exec(markWithdrawn, { seq, reason, outcome: JSON.stringify(result) })
}
