/**
 * Continues a conversation in a new session when it is compressed (`compression.in_place: false`). The old session ends with
 * its whole transcript; the new one has it as its parent. Runs as a whole in the transaction of the caller.
 */
import { exec, query, row, type Transaction } from '../store/query.ts'
import { copyMessages, pinSession } from './conversation-edits.ts'
import { sessionById } from './session-queries.ts'
import { checkFence, createSession, type Fence } from './session-state.ts'
import type { TranscriptEntry } from './transcript.ts'
import { applyCompression, type CompressionEdits } from './transcript-compression.ts'

const moveTurnMessages = query((db, p: { from: string; to: string; turn_id: string }) =>
  db
    .updateTable('messages')
    .set({ session_id: p.to })
    .where('session_id', '=', p.from)
    .where('turn_id', '=', p.turn_id),
)

const moveTurn = query((db, p: { id: string; to: string }) =>
  db.updateTable('turns').set({ session_id: p.to }).where('id', '=', p.id),
)

const endParent = query((db, p: { id: string; now: number }) =>
  db.updateTable('sessions').set({ ended_at: p.now, end_reason: 'compression' }).where('id', '=', p.id),
)

const pointTo = query((db, p: { key: string; session_id: string; now: number }) =>
  db.updateTable('lanes').set({ session_id: p.session_id, updated_at: p.now }).where('session_key', '=', p.key),
)

export interface Rotation {
  readonly fence: Fence
  /** The session that ends. */
  readonly from: string
  /** The id of the session that continues it. */
  readonly to: string
  /** The running turn moves with its messages. */
  readonly turnId: string
}

/**
 * Returns the entries that the model receives now, all of the new session. The running turn keeps its fence: the epoch stays
 * the same. Throws `store/fenced` when the epoch has advanced.
 */
export function* rotateSession(
  { fence, from, to, turnId }: Rotation,
  entries: readonly TranscriptEntry[],
  edits: CompressionEdits,
  now: number,
): Transaction<{ lines: TranscriptEntry[] }> {
  yield* checkFence(fence)
  const parent = yield* row(sessionById, { id: from })
  if (parent === undefined) throw new Error(`there is no session ${from}`)
  const { session_key: key, platform, user_id: userId, title, pinned } = parent
  yield* createSession({ key, source: '', platform, userId, newSessionId: to, now }, nextTitle(title), from)
  const { summary } = edits
  const first = summary === undefined ? 1 : (entries[summary.from]?.ord ?? 1)
  const last = summary === undefined ? 0 : (entries[summary.to - 1]?.ord ?? 0)
  yield* exec(copyMessages, { from, to, turn_id: turnId, first, last })
  yield* exec(moveTurnMessages, { from, to, turn_id: turnId })
  yield* exec(moveTurn, { id: turnId, to })
  if (pinned === 1) yield* pinSession(to, true)
  yield* exec(endParent, { id: from, now })
  yield* exec(pointTo, { key: fence.sessionKey, session_id: to, now })
  return yield* applyCompression(fence, to, entries, edits, now)
}

/** `Taxes` → `Taxes #2` → `Taxes #3`. A session without a title has none later. */
export function nextTitle(title: string): string {
  if (title === '') return ''
  const [, name = title, number = '1'] = /^(.*) #(\d{1,6})$/s.exec(title) ?? []
  return `${name} #${Number(number) + 1}`
}
