/**
 * Writes a compression into the transcript: lines lose their place to shorter ones and stay on disk. All of it happens in
 * the transaction of the caller, or nothing.
 */
import type { ChatMessage, Usage } from '../message/transcript.ts'
import { exec, query, row, type UseCase } from '../store/query.ts'
import { addSessionUsage, checkFence, type Fence } from './lanes.ts'
import { appendMessage, readTranscript, type TranscriptLine } from './transcript.ts'

/** What takes the place of what, as indexes of the lines that were read. */
export interface Replacement {
  readonly cleared: readonly { readonly at: number; readonly message: ChatMessage }[]
  /** From the first line to the one behind the last; the message takes the place of the last. */
  readonly summary?: { readonly from: number; readonly to: number; readonly message: ChatMessage }
  /** What the summary has cost. */
  readonly usage: Usage
}

const newestNumber = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .select((of) => of.fn.max('superseded').as('number'))
    .where('session_id', '=', p.session_id),
)

const takePlaces = query((db, p: { session_id: string; from: number; to: number; number: number }) =>
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
export function* replaceLines(
  fence: Fence,
  sessionId: string,
  lines: readonly TranscriptLine[],
  { cleared, summary, usage }: Replacement,
  now: number,
): UseCase<{ count: number; lines: TranscriptLine[] }> {
  yield* checkFence(fence)
  const known = yield* row(newestNumber, { session_id: sessionId })
  const number = Math.max(0, known?.number ?? 0) + 1
  for (const { at, message } of cleared) {
    const { ord, turnId } = lineAt(lines, at)
    yield* exec(takePlaces, { session_id: sessionId, from: ord, to: ord, number })
    yield* appendMessage({ sessionId, turnId, ord, message }, now)
  }
  if (summary !== undefined) {
    const { ord } = lineAt(lines, summary.to - 1)
    yield* exec(takePlaces, { session_id: sessionId, from: lineAt(lines, summary.from).ord, to: ord, number })
    yield* appendMessage({ sessionId, turnId: null, ord, message: summary.message, usage, isSummary: true }, now)
  }
  yield* addSessionUsage(sessionId, usage.inputTokens, usage.outputTokens, now)
  return { count: number, lines: yield* readTranscript(sessionId) }
}

function lineAt(lines: readonly TranscriptLine[], at: number): TranscriptLine {
  const line = lines[at]
  if (line === undefined) throw new Error(`the conversation has no line ${at}`)
  return line
}
