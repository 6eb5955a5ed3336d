/**
 * Stores conversations of another program. Each session is stored with all of its messages, or not at all.
 */
import type { ChatMessage } from '../message/transcript.ts'
import { exec, query, row, rows, type Transaction } from '../store/query.ts'
import { insertSession, insertSessionState } from './session-state.ts'
import { appendMessage } from './transcript.ts'

export interface ImportedMessage {
  readonly message: ChatMessage
  /** ms since 1970. */
  readonly at: number
  readonly isSummary: boolean
  /** A summary has replaced it, so no model receives it. */
  readonly isReplaced: boolean
}

export interface ImportedSession {
  readonly id: string
  readonly sessionKey: string
  readonly platform: string
  readonly userId: string
  readonly title: string
  readonly parentId: string | null
  /** ms since 1970. */
  readonly startedAt: number
  readonly endedAt: number
  readonly endReason: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly messages: readonly ImportedMessage[]
  /** `SessionSource`, JSON: the session is the current one of its key, unless the key has another one. '' for an ended session. */
  readonly currentSource: string
}

const selectSession = query((db, p: { id: string }) => db.selectFrom('sessions').select('id').where('id', '=', p.id))

const selectState = query((db, p: { key: string }) =>
  db.selectFrom('lanes').select('session_id').where('session_key', '=', p.key),
)

const markReplaced = query((db, p: { session_id: string; ord: number }) =>
  db
    .updateTable('messages')
    .set({ superseded: 1 })
    .where('session_id', '=', p.session_id)
    .where('ord', '=', p.ord)
    .where('superseded', '=', 0),
)

const selectIds = query((db, _: Readonly<Record<string, never>>) => db.selectFrom('sessions').select('id'))

export function* sessionIds(): Transaction<ReadonlySet<string>> {
  return new Set((yield* rows(selectIds, {})).map(({ id }) => id))
}

/** False when a session with this id exists; nothing is changed then. */
export function* storeImportedSession(session: ImportedSession): Transaction<boolean> {
  const { id, sessionKey: key, endedAt, currentSource } = session
  if ((yield* row(selectSession, { id })) !== undefined) return false
  const isCurrent = currentSource !== '' && (yield* row(selectState, { key })) === undefined
  yield* exec(insertSession, {
    id,
    key,
    platform: session.platform,
    user_id: session.userId,
    title: session.title,
    parent_id: session.parentId,
    started: session.startedAt,
    updated: endedAt,
    ended: isCurrent ? null : endedAt,
    reason: isCurrent ? null : session.endReason,
    input: session.inputTokens,
    output: session.outputTokens,
  })
  for (const [ord, { message, at, isSummary, isReplaced }] of session.messages.entries()) {
    yield* appendMessage({ sessionId: id, turnId: null, ord, message, isSummary }, at)
    if (isReplaced) yield* exec(markReplaced, { session_id: id, ord })
  }
  if (isCurrent) yield* exec(insertSessionState, { key, session_id: id, fresh: 0, source: currentSource, now: endedAt })
  return true
}
