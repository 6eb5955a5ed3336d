/**
 * Stores a compression in the transcript: shorter messages supersede existing ones, which stay on disk. Runs as a whole in
 * the transaction of the caller.
 */
import type { ChatMessage, Usage } from '../message/transcript.ts'
import { exec, query, row, type Transaction } from '../store/query.ts'
import { addSessionUsage, checkFence, type Fence } from './session-state.ts'
import { appendMessage, readTranscript, type TranscriptEntry } from './transcript.ts'

/** The replacements, as indexes of the entries that were read. */
export interface CompressionEdits {
  readonly clearedResults: readonly { readonly at: number; readonly message: ChatMessage }[]
  /** Replaces the entries from `from` (inclusive) to `to` (exclusive) at the ordinal of the last one. */
  readonly summary?: { readonly from: number; readonly to: number; readonly message: ChatMessage } | undefined
  /** The turn that leaves the conversation together with the summary; null for none. */
  readonly turnOfSummary?: string | null
  /** The tokens that the summary used. */
  readonly usage: Usage
}

const selectLatestCompression = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .select((of) => of.fn.max('superseded').as('number'))
    .where('session_id', '=', p.session_id),
)

const supersedeRange = query((db, p: { session_id: string; from: number; to: number; number: number }) =>
  db
    .updateTable('messages')
    .set({ superseded: p.number })
    .where('session_id', '=', p.session_id)
    .where('ord', '>=', p.from)
    .where('ord', '<=', p.to)
    .where('superseded', '=', 0),
)

/**
 * Returns the number of compressions of the session, including this one, and the entries that the model receives now.
 * `lines` are the entries of the transcript. Throws `store/fenced` when the epoch has advanced.
 */
export function* applyCompression(
  fence: Fence,
  sessionId: string,
  lines: readonly TranscriptEntry[],
  { clearedResults, summary, usage, turnOfSummary: turnId = null }: CompressionEdits,
  now: number,
): Transaction<{ count: number; lines: TranscriptEntry[] }> {
  yield* checkFence(fence)
  const latest = yield* row(selectLatestCompression, { session_id: sessionId })
  const number = Math.max(0, latest?.number ?? 0) + 1
  for (const { at, message } of clearedResults) {
    const { ord, turnId: turnOfResult } = entryAt(lines, at)
    yield* exec(supersedeRange, { session_id: sessionId, from: ord, to: ord, number })
    yield* appendMessage({ sessionId, turnId: turnOfResult, ord, message }, now)
  }
  if (summary !== undefined) {
    const { ord } = entryAt(lines, summary.to - 1)
    yield* exec(supersedeRange, { session_id: sessionId, from: entryAt(lines, summary.from).ord, to: ord, number })
    yield* appendMessage({ sessionId, turnId, ord, message: summary.message, usage, isSummary: true }, now)
  }
  // The end of the turn adds the usage of its rows.
  if (turnId === null) yield* addSessionUsage(sessionId, usage, now)
  return { count: number, lines: yield* readTranscript(sessionId) }
}

function entryAt(lines: readonly TranscriptEntry[], at: number): TranscriptEntry {
  const line = lines[at]
  if (line === undefined) throw new Error(`the transcript has no entry ${at}`)
  return line
}
