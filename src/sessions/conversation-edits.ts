/**
 * Changes of a conversation that a person asks for: messages leave it, a copy continues elsewhere, an earlier session is
 * opened again. No row is deleted: what has left a conversation keeps its place with another value of `superseded`.
 */
import { ownWords } from '../message/own-words.ts'
import { exec, query, row, rows, sql, type Transaction } from '../store/query.ts'
import { createSession, createState, type EpochOptions, findSessionState, forgetDirectory } from './session-state.ts'
import type { TranscriptEntry } from './transcript.ts'

/** The value of `superseded` of messages that `/undo` or `/retry` took out. */
const withdrawn = -2

/** One question of a person and everything that followed it. */
export interface Exchange {
  /** The ordinal of its first message. */
  readonly ord: number
  readonly turnId: string | null
  /** What the person wrote, as the model has read it, without the text of skills. */
  readonly text: string
  readonly usesTools: boolean
}

/**
 * The exchanges that can be taken back, the oldest first. A summary stands for everything before it, so nothing before the
 * newest one is among them.
 */
export function listExchanges(entries: readonly TranscriptEntry[]): {
  readonly exchanges: readonly Exchange[]
  readonly followsSummary: boolean
} {
  const summaryAt = entries.findLastIndex(({ isSummary }) => isSummary === true)
  const exchanges: Exchange[] = []
  for (const { ord, turnId, message } of entries.slice(summaryAt + 1)) {
    const last = exchanges.at(-1)
    // A message that joined a running turn belongs to it.
    const continues = last !== undefined && turnId !== null && last.turnId === turnId
    if (message.role === 'user' && !continues)
      exchanges.push({ ord, turnId, text: ownWords(message.content), usesTools: false })
    else if (message.role === 'tool' && last !== undefined)
      exchanges[exchanges.length - 1] = { ...last, usesTools: true }
  }
  return { exchanges, followsSummary: summaryAt !== -1 }
}

const withdrawMessages = query((db, p: { session_id: string; from: number }) =>
  db
    .updateTable('messages')
    .set({ superseded: withdrawn })
    .where('session_id', '=', p.session_id)
    .where('ord', '>=', p.from)
    .where('superseded', '=', 0),
)

/** Takes the messages from this ordinal on out of the conversation. They stay on disk. */
export function* withdrawFrom(sessionId: string, ord: number): Transaction<void> {
  yield* exec(withdrawMessages, { session_id: sessionId, from: ord })
}

const selectRecentTurns = query((db, p: { session_id: string }) =>
  db
    .selectFrom('turns')
    .innerJoin('turn_inputs', 'turn_inputs.turn_id', 'turns.id')
    .innerJoin('inbox', 'inbox.seq', 'turn_inputs.seq')
    .select(['turns.id', 'inbox.payload'])
    .where('turns.session_id', '=', p.session_id)
    .where('turn_inputs.how', '=', 'head')
    .orderBy('turns.started_at', 'desc')
    .limit(20),
)

/** The newest turns of a session with the events that began them, the newest first; without those that were pruned. */
export function* listRecentTurns(
  sessionId: string,
): Transaction<readonly { readonly id: string; readonly payload: string }[]> {
  return yield* rows(selectRecentTurns, { session_id: sessionId })
}

const selectInputs = query((db, p: { turn_id: string }) =>
  db
    .selectFrom('turn_inputs')
    .innerJoin('inbox', 'inbox.seq', 'turn_inputs.seq')
    .select(['turn_inputs.how', 'inbox.payload'])
    .where('turn_inputs.turn_id', '=', p.turn_id)
    .orderBy('turn_inputs.seq'),
)

/** The stored events of a turn: the one that began it, and those that joined it. Empty once they are pruned. */
export function* listTurnInputs(
  turnId: string,
): Transaction<readonly { readonly how: string; readonly payload: string }[]> {
  return yield* rows(selectInputs, { turn_id: turnId })
}

const selectMarks = query((db, p: { session_id: string; turn_id: string }) =>
  db
    .selectFrom('messages')
    .select('superseded')
    .distinct()
    .where('session_id', '=', p.session_id)
    .where('turn_id', '=', p.turn_id),
)

/** Whether the messages of a turn are in the conversation, or how they left it. `absent`: it never had any there. */
export function* turnPresence(
  sessionId: string,
  turnId: string,
): Transaction<'present' | 'failed' | 'withdrawn' | 'summarised' | 'absent'> {
  const marks = (yield* rows(selectMarks, { session_id: sessionId, turn_id: turnId })).map(
    ({ superseded }) => superseded,
  )
  if (marks.length === 0) return 'absent'
  if (marks.includes(0)) return 'present'
  if (marks.includes(withdrawn)) return 'withdrawn'
  return marks.includes(-1) ? 'failed' : 'summarised'
}

/** No turn has this id. */
const noTurn = ''

/** The columns that a copy of a message in another session takes over. */
const copiedColumns = [
  'turn_id',
  'ord',
  'role',
  'content',
  'text_id',
  'tool_calls',
  'tool_call_id',
  'tool_name',
  'provider_data',
  'is_summary',
  'created_at',
  'images',
] as const

/** Without a turn, and without the ordinals from `first` to `last`. */
export const copyMessages = query((db, p: { from: string; to: string; turn_id: string; first: number; last: number }) =>
  db
    .insertInto('messages')
    .columns(['session_id', ...copiedColumns])
    .expression(
      db
        .selectFrom('messages')
        .select(sql<string>`${p.to}`.as('session_id'))
        .select(copiedColumns)
        .where('session_id', '=', p.from)
        .where('superseded', '=', 0)
        .where(({ or, eb }) => or([eb('turn_id', 'is', null), eb('turn_id', '<>', p.turn_id)]))
        .where(({ or, eb }) => or([eb('ord', '<', p.first), eb('ord', '>', p.last)]))
        .orderBy('ord'),
    ),
)

/** Where a copy ends: with a turn, or before it. */
export type CopyEnd = { readonly through: string } | { readonly before: string }

const selectOrdinals = query((db, p: { session_id: string; turn_id: string }) =>
  db
    .selectFrom('messages')
    .select((of) => [of.fn.min('ord').as('first'), of.fn.max('ord').as('last')])
    .where('session_id', '=', p.session_id)
    .where('turn_id', '=', p.turn_id)
    .where('superseded', '=', 0)
    .where('is_summary', '=', 0),
)

/** The ordinal before which a copy ends; undefined if the model does not know the messages of the turn any more. */
export function* findCopyEnd(sessionId: string, end: CopyEnd): Transaction<number | undefined> {
  const turn = 'through' in end ? end.through : end.before
  const ordinals = yield* row(selectOrdinals, { session_id: sessionId, turn_id: turn })
  if (ordinals === undefined || ordinals.first === null) return undefined
  return 'through' in end ? ordinals.last + 1 : ordinals.first
}

const copyPrompt = query((db, p: { from: string; to: string }) =>
  db
    .insertInto('prompts')
    .columns(['session_id', 'text', 'tools'])
    .expression(
      db
        .selectFrom('prompts')
        .select(sql<string>`${p.to}`.as('session_id'))
        .select(['text', 'tools'])
        .where('session_id', '=', p.from),
    ),
)

/**
 * Creates the session `newSessionId` with a copy of the current conversation and makes it the current one.
 * @param end the first ordinal that is not copied
 */
export function* branchSession(options: EpochOptions, from: string, title: string, end?: number): Transaction<void> {
  yield* createCopy(options, from, title, end)
  yield* switchSession(options, 'branch')
}

/** Creates the session `newSessionId` with a copy of what the model knows of another. It has ended: no conversation goes on in it. */
export function* copySession(options: EpochOptions, from: string, title: string, end?: number): Transaction<void> {
  yield* createCopy(options, from, title, end)
  yield* exec(endSession, { id: options.newSessionId, reason: 'fork', now: options.now })
}

function* createCopy(
  options: EpochOptions,
  from: string,
  title: string,
  end = Number.MAX_SAFE_INTEGER,
): Transaction<void> {
  yield* createSession(options, title, from)
  yield* exec(copyMessages, {
    from,
    to: options.newSessionId,
    turn_id: noTurn,
    first: end,
    last: Number.MAX_SAFE_INTEGER,
  })
  yield* exec(copyPrompt, { from, to: options.newSessionId })
}

const endSession = query((db, p: { id: string; reason: string; now: number }) =>
  db.updateTable('sessions').set({ ended_at: p.now, end_reason: p.reason }).where('id', '=', p.id),
)

const reopenSession = query((db, p: { id: string; key: string; now: number }) =>
  db
    .updateTable('sessions')
    .set({ session_key: p.key, ended_at: null, end_reason: null, updated_at: p.now })
    .where('id', '=', p.id),
)

const pointToSession = query((db, p: { key: string; session_id: string; epoch: number; fresh: number; now: number }) =>
  db
    .updateTable('lanes')
    .set({ session_id: p.session_id, epoch: p.epoch, fresh: p.fresh, updated_at: p.now })
    .where('session_key', '=', p.key),
)

const selectAnyMessage = query((db, p: { session_id: string }) =>
  db.selectFrom('messages').select('id').where('session_id', '=', p.session_id).limit(1),
)

/** Makes the stored session `newSessionId` the current one of the key. Later writes of a running turn are rejected. */
export function* switchSession(options: EpochOptions, reason: 'branch' | 'resume'): Transaction<void> {
  const { key, newSessionId: id, now } = options
  const state = yield* findSessionState(key)
  // `/resume` may be the first message of a chat.
  if (state === undefined) yield* createState(options)
  else yield* exec(endSession, { id: state.session_id, reason, now })
  yield* exec(reopenSession, { id, key, now })
  const isNew = (yield* row(selectAnyMessage, { session_id: id })) === undefined
  yield* exec(pointToSession, { key, session_id: id, epoch: (state?.epoch ?? 0) + 1, fresh: isNew ? 1 : 0, now })
  // A branch goes on where it was; the directory of another conversation says nothing about this one.
  if (reason === 'resume') yield* forgetDirectory(key)
}

const selectKeyOfSession = query((db, p: { session_id: string }) =>
  db.selectFrom('lanes').select('session_key').where('session_id', '=', p.session_id).limit(1),
)

/** The key whose current session this is; undefined when it is an earlier session. */
export function* findKeyOfSession(sessionId: string): Transaction<string | undefined> {
  return (yield* row(selectKeyOfSession, { session_id: sessionId }))?.session_key
}

const updateTitle = query((db, p: { id: string; title: string }) =>
  db.updateTable('sessions').set({ title: p.title }).where('id', '=', p.id),
)

export function* renameSession(id: string, title: string): Transaction<void> {
  yield* exec(updateTitle, { id, title })
}

const updatePinned = query((db, p: { id: string; pinned: number }) =>
  db.updateTable('sessions').set({ pinned: p.pinned }).where('id', '=', p.id),
)

/** Keeps a session at the top of the list, or no longer. */
export function* pinSession(id: string, pinned: boolean): Transaction<void> {
  yield* exec(updatePinned, { id, pinned: Number(pinned) })
}

const selectLatestUsage = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .select(['usage', 'turn_id'])
    .where('session_id', '=', p.session_id)
    .where('superseded', '=', 0)
    .where('is_summary', '=', 0)
    .where('usage', 'is not', null)
    .orderBy('ord', 'desc')
    .limit(1),
)

/** The newest response of a session and its turn; `usage` is JSON. Undefined before the first one. */
export function* latestUsage(
  sessionId: string,
): Transaction<{ readonly usage: string | null; readonly turn_id: string | null } | undefined> {
  return yield* row(selectLatestUsage, { session_id: sessionId })
}
