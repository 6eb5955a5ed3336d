/**
 * Writes a compression into the transcript: lines lose their place to shorter ones and stay on disk. All of it happens in
 * the transaction of the caller, or nothing.
 */
import type { ChatMessage, Usage } from '../message/transcript.ts'
import { exec, query, row, type Transaction } from '../store/query.ts'
import { addSessionUsage, checkFence, type Fence } from './session-state.ts'
import { appendMessage, readTranscript, type TranscriptEntry } from './transcript.ts'

/** What takes the place of what, as indexes of the lines that were read. */
export interface CompressionEdits {
  readonly clearedResults: readonly { readonly at: number; readonly message: ChatMessage }[]
  /** From the first line to the one behind the last; the message takes the place of the last. */
  readonly summary?: { readonly from: number; readonly to: number; readonly message: ChatMessage }
  /** What the summary has cost. */
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
 * Returns how often the session has been compressed, this time included, and its lines as the model reads them now.
 * `lines` are those of the session's transcript. Throws `store/fenced` when the lane has moved on.
 */
export function* applyCompression(
  fence: Fence,
  sessionId: string,
  lines: readonly TranscriptEntry[],
  { clearedResults, summary, usage }: CompressionEdits,
  now: number,
): Transaction<{ count: number; lines: TranscriptEntry[] }> {
  yield* checkFence(fence)
  const known = yield* row(selectLatestCompression, { session_id: sessionId })
  const number = Math.max(0, known?.number ?? 0) + 1
  for (const { at, message } of clearedResults) {
    const { ord, turnId } = entryAt(lines, at)
    yield* exec(supersedeRange, { session_id: sessionId, from: ord, to: ord, number })
    yield* appendMessage({ sessionId, turnId, ord, message }, now)
  }
  if (summary !== undefined) {
    const { ord } = entryAt(lines, summary.to - 1)
    yield* exec(supersedeRange, { session_id: sessionId, from: entryAt(lines, summary.from).ord, to: ord, number })
    yield* appendMessage({ sessionId, turnId: null, ord, message: summary.message, usage, isSummary: true }, now)
  }
  yield* addSessionUsage(sessionId, usage.inputTokens, usage.outputTokens, now)
  return { count: number, lines: yield* readTranscript(sessionId) }
}

function entryAt(lines: readonly TranscriptEntry[], at: number): TranscriptEntry {
  const line = lines[at]
  if (line === undefined) throw new Error(`the conversation has no line ${at}`)
  return line
}
