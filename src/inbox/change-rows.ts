/**
 * What an edit or a deletion does to the rows of the inbox: one transaction each, so that no turn can begin
 * between the look and the write.
 */
import type { Attachment, MessageEvent } from '../message/event.ts'
import type { TurnOutcome } from '../platforms/adapter.ts'
import { exec, query, row, type UseCase } from '../store/query.ts'
import type { InboxState } from '../store/schema.ts'
import { addNames, insertEvent, seqNamed } from './queries.ts'
import { storedEvent } from './stored-event.ts'
import { note } from './trace.ts'

const bySeq = query((db, p: { seq: number }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'state', 'session_key', 'lane', 'platform', 'account', 'chat_id', 'turn_id', 'payload'])
    .where('seq', '=', p.seq),
)

/** An event as it lies on disk. */
export interface StoredRow {
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
export function* rowNamed(key: string): UseCase<StoredRow | undefined> {
  const seq = yield* seqNamed([key])
  return seq === undefined ? undefined : yield* row(bySeq, { seq })
}

/** What became of an edit. `lane`: somebody has to be woken there. */
export type EditOutcome =
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
  readonly of: string
  readonly keys: readonly string[]
  readonly event: MessageEvent
  /** Where a message that reads like this belongs. */
  readonly lane: 'turn' | 'control'
  readonly manner: 'ignore' | 'amend' | 'rerun'
  /** What waiters of a version that was taken back are told. */
  readonly outcome: TurnOutcome
  /** To JSON. Throws `inbox/too-large`. */
  pack(event: MessageEvent): string
}

/** Never touches what an agent has read already: then it is a note, or a message of its own behind the others. */
export function* applyEdit(edit: Edit, now: number): UseCase<EditOutcome> {
  const { of, keys, event, lane, manner } = edit
  const known = yield* seqNamed(keys)
  if (known !== undefined) return { kind: 'duplicate', seq: known }
  const found = yield* rowNamed(of)
  if (found === undefined) return { kind: 'unknown' }
  const { seq, state } = found
  const before = storedEvent(found.payload)
  if (before.text === event.text.toWellFormed()) return { kind: 'unchanged', seq }

  if (manner !== 'ignore' && state === 'queued') {
    const amended = amendedEvent(before, event)
    if (lane !== found.lane) return yield* replace(found, amended, edit, now)
    yield* exec(rewrite, { seq, kind: amended.messageType, payload: edit.pack(amended) })
    yield* addNames(keys, seq)
    return { kind: 'amended', seq }
  }
  if (manner === 'rerun') return yield* append(found, event, edit, now)
  yield* addNames(keys, seq)
  if (manner === 'ignore') return { kind: 'ignored', seq }
  yield* note(found, 'message:edited', `message ${seq} was edited after it had been taken up: ${event.text}`, now)
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
    ...(now.attachments === undefined ? {} : { attachments: broughtAlready(now.attachments, attachments ?? []) }),
  }
}

/** Files that have been fetched, or could not be, are not fetched again because the words beside them changed. */
function broughtAlready(wanted: readonly Attachment[], known: readonly Attachment[]): readonly Attachment[] {
  return wanted.map((file) => known.find((one) => isBrought(one) && isSameFile(one, file)) ?? file)
}

function isBrought({ path, problem }: Attachment): boolean {
  return path !== undefined || problem !== undefined
}

function isSameFile(one: Attachment, other: Attachment): boolean {
  return one.ref === other.ref && one.url === other.url && (one.ref ?? one.url) !== undefined
}

/** Files of a message that still waits have been fetched, or could not be; an edit in between may have named others. */
export function* bringFiles(seq: number, files: readonly Attachment[]): UseCase<void> {
  const found = yield* row(bySeq, { seq })
  if (found?.state !== 'queued') return
  const { attachments = [], ...event } = storedEvent(found.payload)
  const payload = JSON.stringify({ ...event, attachments: broughtAlready(attachments, files) })
  yield* exec(rewrite, { seq, kind: event.messageType, payload })
}

/** An edit that turned words into a command, or back: it belongs to another lane, behind what waits there. */
function* replace(found: StoredRow, event: MessageEvent, edit: Edit, now: number): UseCase<EditOutcome> {
  yield* withdrawRow(found.seq, 'an edit made another message of it', edit.outcome)
  return { ...(yield* append(found, event, edit, now)), withdrawn: found.seq }
}

function* append(found: StoredRow, event: MessageEvent, { keys, lane, pack }: Edit, now: number) {
  const { session_key: sessionKey, platform, account, chat_id: chatId } = found
  const payload = pack(event)
  const seq = yield* insertEvent({ sessionKey, lane, kind: event.messageType, platform, account, chatId, payload }, now)
  // The next edit, or a deletion, means this version.
  yield* exec(moveNames, { from: found.seq, to: seq })
  yield* addNames(keys, seq)
  return { kind: 'appended' as const, seq, sessionKey, lane }
}

const moveNames = query((db, p: { from: number; to: number }) =>
  db.updateTable('inbox_keys').set({ seq: p.to }).where('seq', '=', p.from),
)

/** What became of a deletion. */
export type DeletionOutcome =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'duplicate' | 'withdrawn' | 'noted'; readonly seq: number }

/** A message that waits is taken back; of one that has been read, the deletion is noted. */
export function* applyDeletion(
  { of, keys, outcome }: Pick<Edit, 'of' | 'keys' | 'outcome'>,
  now: number,
): UseCase<DeletionOutcome> {
  const known = yield* seqNamed(keys)
  if (known !== undefined) return { kind: 'duplicate', seq: known }
  const found = yield* rowNamed(of)
  if (found === undefined) return { kind: 'unknown' }
  const { seq, state } = found
  yield* addNames(keys, seq)
  const waits = state === 'queued'
  if (waits) yield* withdrawRow(seq, 'it was deleted before it was read', outcome)
  const told = waits ? 'before it was read; it is not answered' : 'after it had been taken up'
  yield* note(found, 'message:deleted', `message ${seq} was deleted ${told}`, now)
  return { kind: waits ? 'withdrawn' : 'noted', seq }
}

const withdraw = query((db, p: { seq: number; reason: string; outcome: string }) =>
  db
    .updateTable('inbox')
    .set({ state: 'dropped', reason: p.reason, outcome: p.outcome })
    .where('seq', '=', p.seq)
    .where('state', '=', 'queued'),
)

function* withdrawRow(seq: number, reason: string, outcome: TurnOutcome): UseCase<void> {
  yield* exec(withdraw, { seq, reason, outcome: JSON.stringify(outcome) })
}
