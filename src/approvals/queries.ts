/**
 * The queries of questions, of the turns that ask them, and of grants (rules that need no further approval).
 */
import { parseStoredEvent } from '../inbox/stored-event.ts'
import { brand } from '../lib/ids.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { findOpenTurn, sessionKeyOfOpenTurn } from '../sessions/turns.ts'
import { deleteOldest, exec, pick, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { Database } from '../store/schema.ts'
import type { Question } from './question.ts'

// Literal, because SQLite uses a partial index only where a query repeats its condition word for word.
const waiting = sql<boolean>`state = 'waiting'`

type QuestionState = 'waiting' | 'answered' | 'expired'

/** A question as it was stored. */
export interface StoredQuestion extends Omit<Question, 'id' | 'timeoutMs' | 'replyTo'> {
  readonly id: string
  readonly state: QuestionState
  /** The choice; null until a user answers. */
  readonly answer: string | null
  /** The id of the user who answered; null until then, '' for a user without an id. */
  readonly answeredBy: string | null
  /** The reason that the user added. */
  readonly reason: string | null
  /** ms since 1970. */
  readonly expiresAt: number
  /** The message has buttons. Otherwise its text lists the typed commands. */
  readonly buttons: boolean
}

/** The members that no query reads, stored as JSON. */
type Payload = Omit<StoredQuestion, 'id' | 'choices' | 'state' | 'answer' | 'answeredBy' | 'reason' | 'expiresAt'>

type AnswerColumn = 'state' | 'answer' | 'answered_by' | 'reason' | 'answered_at'
type NewQuestion = Omit<Database['questions'], AnswerColumn | 'seen_at' | 'created_at'>

// Questions of one session have different times, so that they stay in the order in which they were asked.
const insert = query((db, p: NewQuestion & { now: number; created_at: number }) =>
  db.insertInto('questions').values({
    ...pick(p, 'id', 'kind', 'session_key', 'platform', 'account', 'chat_id', 'asked_user', 'choices', 'payload'),
    state: 'waiting',
    answer: null,
    answered_by: null,
    reason: null,
    expires_at: p.expires_at,
    seen_at: p.now,
    created_at: p.created_at,
    answered_at: null,
  }),
)

export function* insertQuestion(id: string, question: Question, buttons: boolean, now: number): Transaction<void> {
  const { kind, sessionKey, source, text, choices, unanswered, timeoutMs, approver, about, turnId } = question
  const payload: Payload = {
    kind,
    sessionKey,
    source,
    text,
    unanswered,
    buttons,
    approver,
    about,
    turnId,
  }
  yield* exec(insert, {
    id,
    kind,
    session_key: sessionKey,
    platform: source.platform,
    account: source.account,
    chat_id: source.chatId,
    asked_user: source.userId ?? '',
    choices: JSON.stringify(choices),
    payload: JSON.stringify(payload),
    expires_at: now + timeoutMs,
    now,
    created_at: Math.max(now, ((yield* row(newestOf, { session_key: sessionKey }))?.at ?? 0) + 1),
  })
}

const newestOf = query((db, p: { session_key: string }) =>
  db
    .selectFrom('questions')
    .select((of) => of.fn.max('created_at').as('at'))
    .where('session_key', '=', p.session_key)
    .where(waiting),
)

const columns = ['id', 'choices', 'payload', 'state', 'answer', 'answered_by', 'reason', 'expires_at'] as const

interface QuestionRow {
  readonly id: string
  readonly choices: string
  readonly payload: string
  readonly state: QuestionState
  readonly answer: string | null
  readonly answered_by: string | null
  readonly reason: string | null
  readonly expires_at: number
}

/** The gateway wrote the JSON, so its shape is known. */
function questionOf({ payload, choices, answered_by, expires_at, ...row }: QuestionRow): StoredQuestion {
  const rest: Payload = JSON.parse(payload)
  return { ...rest, ...row, choices: JSON.parse(choices), answeredBy: answered_by, expiresAt: expires_at }
}

const byId = query((db, p: { id: string }) => db.selectFrom('questions').select(columns).where('id', '=', p.id))

export function* findQuestion(id: string): Transaction<StoredQuestion | undefined> {
  const stored = yield* row(byId, { id })
  return stored === undefined ? undefined : questionOf(stored)
}

const waitingOf = query((db, p: { session_key: string }) =>
  db
    .selectFrom('questions')
    .select(columns)
    .where('session_key', '=', p.session_key)
    .where(waiting)
    .orderBy('created_at')
    .orderBy('id'),
)

/** The oldest first. Includes overdue questions that are not expired yet. */
export function* waitingQuestions(sessionKey: string): Transaction<StoredQuestion[]> {
  return (yield* rows(waitingOf, { session_key: sessionKey })).map(questionOf)
}

const selectOverdue = query((db, p: { now: number; limit: number }) =>
  db.selectFrom('questions').select(columns).where(waiting).where('expires_at', '<=', p.now).limit(p.limit),
)

/** Waiting questions that must be expired. */
export function* overdueQuestions(now: number, limit: number): Transaction<StoredQuestion[]> {
  return (yield* rows(selectOverdue, { now, limit })).map(questionOf)
}

const firstExpiry = query((db, _: Record<never, never>) =>
  db
    .selectFrom('questions')
    .select((of) => of.fn.min('expires_at').as('at'))
    .where(waiting),
)

/** The next expiry of a waiting question, ms since 1970; null without waiting questions. */
export function* nextExpiry(): Transaction<number | null> {
  return (yield* row(firstExpiry, {}))?.at ?? null
}

/** Tools wait for the answers to these. */
const approval = sql<boolean>`kind in ('approval', 'clarify')`

const waitingApproval = query((db, _: Record<never, never>) =>
  db.selectFrom('questions').select(columns).where(waiting).where(approval).orderBy('created_at'),
)

/** The approvals that tools wait for, in all sessions. */
export function* waitingApprovals(): Transaction<StoredQuestion[]> {
  return (yield* rows(waitingApproval, {})).map(questionOf)
}

const touchApprovals = query((db, p: { now: number }) =>
  db.updateTable('questions').set({ seen_at: p.now }).where(waiting).where(approval).returning('id'),
)

/** Records that the process is running, which the clocks of approvals depend on. Returns the number of waiting approvals. */
export function* touchClocks(now: number): Transaction<number> {
  return (yield* rows(touchApprovals, { now })).length
}

const resumeApprovals = query((db, p: { now: number }) =>
  db
    .updateTable('questions')
    .set({ expires_at: sql<number>`expires_at + (${p.now} - seen_at)`, seen_at: p.now })
    .where(waiting)
    .where(approval)
    .where('seen_at', '<', p.now),
)

/** Extends the expiry of approvals by the time in which no process was running. Called at the start. */
export function* resumeClocks(now: number): Transaction<void> {
  yield* exec(resumeApprovals, { now })
}

const closeQuestion = query(
  (
    db,
    p: {
      id: string
      state: QuestionState
      answer: string | null
      answered_by: string | null
      reason: string | null
      now: number
    },
  ) =>
    db
      .updateTable('questions')
      .set({ state: p.state, answer: p.answer, answered_by: p.answered_by, reason: p.reason, answered_at: p.now })
      .where('id', '=', p.id)
      .where(waiting)
      .returning('id'),
)

/** `answer` is null when the question ends without a choice. Returns false if it was resolved before. */
export function* resolveQuestion(
  id: string,
  answer: { readonly choice: string; readonly by: string; readonly reason?: string | undefined } | null,
  now: number,
): Transaction<boolean> {
  const closed = yield* row(closeQuestion, {
    id,
    state: answer === null ? 'expired' : 'answered',
    answer: answer?.choice ?? null,
    answered_by: answer?.by ?? null,
    reason: answer?.reason ?? null,
    now,
  })
  return closed !== undefined
}

const addGrant = query((db, p: { scope: string; rule: string; granted_by: string; now: number }) =>
  db
    .insertInto('grants')
    .values({ scope: p.scope, rule: p.rule, granted_by: p.granted_by, created_at: p.now })
    .onConflict((conflict) => conflict.columns(['scope', 'rule']).doNothing()),
)

const findGrant = query((db, p: { scope: string; rule: string }) =>
  db.selectFrom('grants').select('id').where('scope', '=', p.scope).where('rule', '=', p.rule),
)

const sessionKeyScope = (sessionKey: string) => `session:${sessionKey}`
const sessionIdScope = (sessionId: string) => `life:${sessionId}`

/** The rule needs no further approval in this conversation, also not after `/new`. */
export function* grantInSession(sessionKey: string, rule: string, by: string, now: number): Transaction<void> {
  yield* exec(addGrant, { scope: sessionKeyScope(sessionKey), rule, granted_by: by, now })
}

/** The rule needs no further approval until the session ends. */
export function* grantUntilEnd(sessionId: string, rule: string, by: string, now: number): Transaction<void> {
  yield* exec(addGrant, { scope: sessionIdScope(sessionId), rule, granted_by: by, now })
}

export function* isGrantedInSession(sessionKey: string, rule: string): Transaction<boolean> {
  return (yield* row(findGrant, { scope: sessionKeyScope(sessionKey), rule })) !== undefined
}

export function* isGrantedUntilEnd(sessionId: string, rule: string): Transaction<boolean> {
  return (yield* row(findGrant, { scope: sessionIdScope(sessionId), rule })) !== undefined
}

/** Without those of ended sessions. The newest first. */
export const listGrants = query((db, p: { limit: number }) =>
  db
    .selectFrom('grants')
    .select(['id', 'scope', 'rule', 'granted_by'])
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('sessions')
            .select('id')
            .where('id', '=', sql<string>`substr(grants.scope, ${sql.lit(sessionIdScope('').length + 1)})`)
            .where('ended_at', 'is not', null),
        ),
      ),
    )
    .orderBy('id', 'desc')
    .limit(p.limit),
)

const dropGrantById = query((db, p: { id: number }) => db.deleteFrom('grants').where('id', '=', p.id).returning('id'))

/** False when there is no such grant. */
export function* revokeGrant(id: number): Transaction<boolean> {
  return (yield* row(dropGrantById, { id })) !== undefined
}

const yoloRule = 'yolo'

const dropGrant = query((db, p: { scope: string; rule: string }) =>
  db.deleteFrom('grants').where('scope', '=', p.scope).where('rule', '=', p.rule),
)

/** The rule needs approval again in this conversation. */
export function* revokeInSession(sessionKey: string, rule: string): Transaction<void> {
  yield* exec(dropGrant, { scope: sessionKeyScope(sessionKey), rule })
}

/** Commands of owners need no approval until the session ends (`/yolo`). */
export function* isYolo(sessionId: string): Transaction<boolean> {
  return yield* isGrantedUntilEnd(sessionId, yoloRule)
}

/** Switches `/yolo` on or off. Returns whether it is on now. */
export function* toggleYolo(sessionId: string, by: string, now: number): Transaction<boolean> {
  const isOn = yield* isYolo(sessionId)
  if (isOn) yield* exec(dropGrant, { scope: sessionIdScope(sessionId), rule: yoloRule })
  else yield* grantUntilEnd(sessionId, yoloRule, by, now)
  return !isOn
}

const dropGrantsOfScope = query((db, p: { scope: string }) => db.deleteFrom('grants').where('scope', '=', p.scope))

/** Takes back what was granted until the end of a session, because the session has ended and is opened again. */
export function* dropSessionGrants(sessionId: string): Transaction<void> {
  yield* exec(dropGrantsOfScope, { scope: sessionIdScope(sessionId) })
}

const renameScope = query((db, p: { from: string; to: string }) =>
  db.updateTable('grants').set({ scope: p.to }).where('scope', '=', p.from),
)

/** What was granted until the end of a session holds in the session that continues it. */
export function* moveSessionGrants(from: string, to: string): Transaction<void> {
  yield* exec(renameScope, { from: sessionIdScope(from), to: sessionIdScope(to) })
}

const sweepEnded = deleteOldest('questions', 'created_at', sql`state in ('answered', 'expired')`)

/** Deletes at most `limit` resolved questions that were created before `olderThan` (ms). Returns the number. */
export function* sweepQuestions(olderThan: number, limit: number): Transaction<number> {
  return (yield* rows(sweepEnded, { before: olderThan, limit })).length
}

export interface OpenTurn {
  readonly event: MessageEvent
  readonly sessionKey: SessionKey
}

/** The event and the session of an open turn; undefined outside of sessions. */
export function* openTurnOf(turnId: string): Transaction<OpenTurn | undefined> {
  const key = yield* sessionKeyOfOpenTurn(turnId)
  const open = key === undefined ? undefined : yield* findOpenTurn(key)
  if (key === undefined || open?.id !== turnId) return undefined
  return { event: parseStoredEvent(open.payload), sessionKey: brand<SessionKey>(key) }
}
