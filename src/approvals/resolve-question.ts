/**
 * Resolves a question: answered, expired, replaced or cancelled. One transaction contains the choice, its effect and the
 * edit that removes the buttons. A question ends without an answer at its expiry, also one that was missed while no process ran, and
 * after the turn that asked has ended by a stop, a reset or a crash. An approval of a tool can be answered only while the process
 * runs, so its clock is paused while no process runs.
 */

import { acceptEvent } from '../inbox/queries.ts'
import { serializeEvent } from '../inbox/stored-event.ts'
import { onAbort } from '../lib/timers.ts'
import type { SessionKey } from '../message/ids.ts'
import { type SessionSource, targetOf } from '../message/source.ts'
import { toMarkdownLabel } from '../message/untrusted-text.ts'
import { findButtonsMessageId } from '../outbox/queries.ts'
import { sessionKeyOfOpenTurn } from '../sessions/turns.ts'
import { afterCommit, enlist, type Transaction } from '../store/query.ts'
import type { ApprovalChoice, ApprovalInfo, QuestionsDeps } from './contract.ts'
import {
  grantInSession,
  grantUntilEnd,
  nextExpiry,
  overdueQuestions,
  resolveQuestion,
  resumeClocks,
  type StoredQuestion,
  touchClocks,
  waitingApprovals,
  waitingQuestions,
} from './queries.ts'
import type { Choice, Effect, Question } from './question.ts'

interface UserAnswer {
  readonly choice: Choice
  readonly by: SessionSource
  /** The reason that the user added. */
  readonly reason?: string | undefined
  /** The message whose button was pressed. */
  readonly messageId?: string | undefined
}

/** The choice and the user who made it, or why there is none. */
type QuestionResult =
  | {
      readonly kind: 'chosen'
      readonly choice: Pick<Choice, 'label'>
      readonly by?: string
      readonly reason?: string | undefined
    }
  | { readonly kind: 'unanswered'; readonly says: string }
  | { readonly kind: 'replaced' | 'cancelled' }

/** The outbox key of the question's message. */
export function replyKeyOf(id: string): string {
  return `question:${id}`
}

/** False when the question was resolved before; then nothing is changed. */
export function* answerQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  { choice, by, reason, messageId }: UserAnswer,
  now: number,
): Transaction<boolean> {
  const user = by.userId ?? ''
  if (!(yield* resolveQuestion(question.id, { choice: choice.answer, by: user, reason }, now))) return false
  yield* afterCommit(() => {
    deps.failpoint?.('question:answered')
    publishResolved(deps, question, 'answered', choice.answer, user)
  })
  const { grant, grants = grant === undefined ? [] : [grant], grantEndsWith } = choice.effect
  for (const grant of grants) {
    if (grantEndsWith === undefined) yield* grantInSession(question.sessionKey, grant, user, now)
    else yield* grantUntilEnd(grantEndsWith, grant, user, now)
  }
  yield* applyEffect(deps, question, choice.effect, reason, now)
  const result = { kind: 'chosen', choice, by: displayName(by), reason } as const
  yield* removeButtons(deps, question, result, messageId, now)
  return true
}

/** The question was not answered in time. If there are no buttons to remove, a separate message says so. */
export function* expireQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  now: number,
  messageId?: string,
): Transaction<void> {
  if (!(yield* resolveQuestion(question.id, null, now))) return
  yield* afterCommit(() => publishResolved(deps, question, 'expired'))
  yield* applyEffect(deps, question, question.unanswered, undefined, now)
  const result = { kind: 'unanswered', says: question.unanswered.says } as const
  if (yield* removeButtons(deps, question, result, messageId, now)) return
  const key = `${replyKeyOf(question.id)}:expired`
  yield* enlist(deps.outbox.prepare({ ...replyAddress(question), key, text: resultLine(result) }), now)
}

/**
 * `replaced`: the question was asked again, and only the newer one accepts an answer. `cancelled`: the turn that asked has
 * ended, so an answer would have no effect.
 */
export function* withdrawQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  kind: 'replaced' | 'cancelled',
  now: number,
): Transaction<void> {
  if (!(yield* resolveQuestion(question.id, null, now))) return
  yield* afterCommit(() => publishResolved(deps, question, kind))
  yield* removeButtons(deps, question, { kind }, undefined, now)
}

/** Edits the question's message if it has buttons and its id is known. Only the first edit of a question counts. */
export function* removeButtons(
  deps: QuestionsDeps,
  question: StoredQuestion,
  result: QuestionResult,
  messageId: string | undefined,
  now: number,
): Transaction<boolean> {
  if (!question.buttons) return false
  const platformId = messageId ?? (yield* findButtonsMessageId(replyKeyOf(question.id)))
  if (platformId === undefined) return false
  const draft = { platformId, shownText: '' }
  const key = `${replyKeyOf(question.id)}:closed`
  yield* enlist(
    deps.outbox.prepare({ ...replyAddress(question), key, text: resolvedText(question, result), draft }),
    now,
  )
  return true
}

function* applyEffect(
  deps: QuestionsDeps,
  { id, sessionKey }: StoredQuestion,
  { event }: Effect,
  reason: string | undefined,
  now: number,
): Transaction<void> {
  if (event === undefined) return
  const metadata = { ...event.metadata, question: id, ...(reason === undefined ? {} : { reason }) }
  const { platform, account, chatId } = event.source
  const payload = serializeEvent({ ...event, timestamp: now, internal: true, metadata })
  const row = { sessionKey, lane: 'control', kind: 'internal', platform, account, chatId, payload } as const
  yield* acceptEvent(row, [replyKeyOf(id)], now)
  yield* afterCommit(() => deps.wake(sessionKey))
}

export function replyAddress({ source, sessionKey }: StoredQuestion) {
  return { target: targetOf(source), sessionKey, kind: 'notice' as const }
}

type FinalState = 'answered' | 'expired' | 'replaced' | 'cancelled'

function publishResolved(deps: QuestionsDeps, question: StoredQuestion, state: FinalState, answer = '', by = ''): void {
  if (deps.emitsEvents(question.source))
    deps.emit('approval:resolved', {
      ...approvalEventContext(question),
      outcome: state,
      answer,
      resolved_by: by,
    })
  const info = approvalInfo(question)
  if (info !== undefined) deps.plugins?.approvalResolved(info, approvalChoiceOf(state, answer), by)
  deps.onResolved(question.id)
}

/** Undefined for questions other than approvals. */
export function approvalInfo({
  sessionKey,
  source,
  about,
}: Pick<Question, 'sessionKey' | 'source' | 'about'>): ApprovalInfo | undefined {
  return about === undefined ? undefined : { sessionKey, source, about }
}

/** The choice as plugins receive it (contract §2.6). */
function approvalChoiceOf(state: FinalState, answer: string): ApprovalChoice {
  if (state !== 'answered') return state === 'expired' ? 'timeout' : 'cancelled'
  return answer === 'once' || answer === 'session' || answer === 'always' ? answer : 'deny'
}

/** The common fields of the events of a question. */
export function approvalEventContext({
  id,
  kind,
  source,
  sessionKey,
}: Pick<StoredQuestion, 'id' | 'kind' | 'source' | 'sessionKey'>) {
  return {
    platform: source.platform,
    user_id: source.userId ?? '',
    chat_id: source.chatId,
    thread_id: source.threadId ?? '',
    session_key: sessionKey,
    approval_id: id,
    kind,
  }
}

/** Markdown, without buttons and without typed commands. */
function resolvedText({ text }: Pick<Question, 'text'>, result: QuestionResult): string {
  return `${text}\n\n${resultLine(result)}`
}

/** The last line of the text. */
export function resultLine(result: QuestionResult): string {
  switch (result.kind) {
    case 'chosen': {
      const by = result.by === undefined ? '' : ` — ${result.by}`
      return `**${result.choice.label}**${by}${result.reason === undefined ? '' : `: ${toMarkdownLabel(result.reason)}`}`
    }
    case 'unanswered':
      return `*No answer in time. ${result.says}*`
    case 'replaced':
      return '*Asked again below.*'
    case 'cancelled':
      return '*Cancelled: the turn that asked has ended.*'
  }
}

/** The name of the user as escaped markdown, because users choose their names. */
function displayName({ userName, userId }: SessionSource): string {
  return toMarkdownLabel(userName || userId || 'a user')
}

export interface ExpiryClock {
  /** Never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** A question was added: the next expiry may be earlier. */
  reschedule(): void
}

/** Bounds the length of a transaction. */
const batchSize = 20
/** Checks again although nothing is due, because the system clock may be set. */
const maxSleepMs = 600_000
const retryDelayMs = 30_000
/** Interval while a tool waits: the most that a crash adds to its time. */
const heartbeatMs = 10_000

export function createExpiryClock(deps: QuestionsDeps): ExpiryClock {
  let sleeping = new AbortController()

  async function run(signal: AbortSignal): Promise<void> {
    const stopListening = onAbort(signal, () => sleeping.abort())
    await runLogged('the clocks of approvals could not be resumed', () => resumeClocks(deps.clock()))
    while (!signal.aborted) {
      sleeping = new AbortController()
      const ms = await expireDue()
      if (!signal.aborted) await deps.sleep(ms, sleeping.signal)
    }
    stopListening()
    await runLogged('the clocks of approvals could not be paused', () => touchClocks(deps.clock()))
  }

  async function runLogged(failed: string, work: () => Transaction<unknown>): Promise<void> {
    try {
      await deps.store.run(work)
    } catch (error) {
      deps.log.error({ event: 'approval.clock_failed', err: error }, failed)
    }
  }

  /** Returns the delay until the next check, ms. */
  async function expireDue(): Promise<number> {
    const now = deps.clock()
    try {
      const { expired, next, longest } = await deps.store.run(function* () {
        const due = yield* overdueQuestions(now, batchSize)
        for (const question of due) yield* expireQuestion(deps, question, now)
        const longest = (yield* touchClocks(now)) > 0 ? heartbeatMs : maxSleepMs
        return { expired: due.length, next: yield* nextExpiry(), longest }
      })
      if (expired > 0)
        deps.log.info({ event: 'approval.expired', questions: expired }, 'questions expired without an answer')
      return next === null ? maxSleepMs : Math.min(longest, Math.max(0, next - now))
    } catch (error) {
      deps.log.error({ event: 'approval.expiry_failed', err: error }, 'overdue questions could not be expired')
      return retryDelayMs
    }
  }

  return { run, reschedule: () => sleeping.abort() }
}

export type StaleApprovals = ReturnType<typeof createStaleApprovals>

/** @param found called for each question that the last process left open and whose turn continues */
export function createStaleApprovals(deps: QuestionsDeps, onStale: (question: StoredQuestion) => void) {
  const turnEndListeners = new Map<SessionKey, () => void>()

  async function cancelStaleOf(candidates: () => Transaction<StoredQuestion[]>): Promise<readonly StoredQuestion[]> {
    const now = deps.clock()
    try {
      return await deps.store.run(function* () {
        return yield* cancelStale(deps, yield* candidates(), now)
      })
    } catch (error) {
      deps.log.error({ event: 'approval.cancel_failed', err: error }, 'questions of ended turns could not be cancelled')
      return []
    }
  }

  function approvalAsked(sessionKey: SessionKey): void {
    turnEndListeners.set(sessionKey, () => void turnEnded(sessionKey))
  }

  async function turnEnded(sessionKey: SessionKey): Promise<void> {
    if (!turnEndListeners.delete(sessionKey)) return
    const stillOpen = await cancelStaleOf(() => waitingApprovalsOf(sessionKey))
    if (stillOpen.length > 0) approvalAsked(sessionKey)
  }

  return {
    /** Sessions in which a tool waits for an answer; call the listener when their turn has ended. */
    turnEndListeners,
    /** A tool waits for an answer in this session. */
    approvalAsked,
    /** A turn of this session has ended. Never rejects. */
    turnEnded,
    /** Cancels the questions that the last process left open. Never rejects. */
    async cancelLeftovers() {
      for (const question of await cancelStaleOf(waitingApprovals)) {
        approvalAsked(question.sessionKey)
        onStale(question)
      }
    },
  }
}

function* waitingApprovalsOf(sessionKey: SessionKey): Transaction<StoredQuestion[]> {
  return (yield* waitingQuestions(sessionKey)).filter(({ kind }) => kind !== 'slash-confirm')
}

/** Returns the questions whose turn is still open. */
function* cancelStale(
  deps: QuestionsDeps,
  questions: readonly StoredQuestion[],
  now: number,
): Transaction<StoredQuestion[]> {
  const stillOpen: StoredQuestion[] = []
  for (const question of questions) {
    const turnId = question.turnId ?? question.about?.turnId
    if (turnId === undefined || (yield* sessionKeyOfOpenTurn(turnId)) !== undefined) stillOpen.push(question)
    else yield* withdrawQuestion(deps, question, 'cancelled', now)
  }
  return stillOpen
}
