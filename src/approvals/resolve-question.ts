/**
 * Resolves a question: answered, expired, replaced or cancelled. One transaction contains the choice, its effect and the
 * edit that removes the buttons.
 */
import { type SessionSource, targetOf } from '../message/source.ts'
import type { Transaction } from '../store/query.ts'
import type { AfterCommit, ApprovalChoice, ApprovalInfo, QuestionsDeps } from './after-commit.ts'
import { grantInSession, grantUntilEnd, resolveQuestion, type StoredQuestion } from './queries.ts'
import type { Choice, Effect, Question } from './question.ts'
import { displayName, type QuestionResult, resolvedText, resultLine } from './resolution-message.ts'

export interface UserAnswer {
  readonly choice: Choice
  readonly by: SessionSource
  /** The reason that the user added. */
  readonly reason?: string
  /** The message whose button was pressed. */
  readonly messageId?: string
}

/** The outbox key of the question's message. */
export function replyKeyOf(id: string): string {
  return `question:${id}`
}

/** False when the question was resolved before; then nothing is changed. */
export function* answerQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  { choice, by, reason, messageId }: UserAnswer,
  after: AfterCommit,
  now: number,
): Transaction<boolean> {
  const user = by.userId ?? ''
  const words = reason === undefined ? {} : { reason }
  if (!(yield* resolveQuestion(question.id, { choice: choice.answer, by: user, ...words }, now))) return false
  after.answered()
  publishResolved(question, after, 'answered', choice.answer, user)
  const { grant, grantEndsWith } = choice.effect
  if (grant !== undefined) {
    if (grantEndsWith === undefined) yield* grantInSession(question.sessionKey, grant, user, now)
    else yield* grantUntilEnd(grantEndsWith, grant, user, now)
  }
  yield* applyEffect(deps, question, choice.effect, reason, after, now)
  const ending = { kind: 'chosen', choice, by: displayName(by), ...words } as const
  yield* removeButtons(deps, question, ending, messageId, after, now)
  return true
}

/** The question was not answered. Without buttons to remove, a separate message says so. */
export function* expireQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  after: AfterCommit,
  now: number,
  messageId?: string,
): Transaction<void> {
  if (!(yield* resolveQuestion(question.id, null, now))) return
  publishResolved(question, after, 'expired')
  yield* applyEffect(deps, question, question.unanswered, undefined, after, now)
  const ending = { kind: 'unanswered', says: question.unanswered.says } as const
  if (yield* removeButtons(deps, question, ending, messageId, after, now)) return
  const key = `${replyKeyOf(question.id)}:expired`
  yield* after.send({ ...replyAddress(question), key, text: resultLine(ending) }, now)
}

/** The question was asked again: only the newer one accepts an answer. */
export function* replaceQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  after: AfterCommit,
  now: number,
): Transaction<void> {
  if (!(yield* resolveQuestion(question.id, null, now))) return
  publishResolved(question, after, 'replaced')
  yield* removeButtons(deps, question, { kind: 'replaced' }, undefined, after, now)
}

/** The turn that asked has ended, so an answer would have no effect. */
export function* cancelQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  after: AfterCommit,
  now: number,
): Transaction<void> {
  if (!(yield* resolveQuestion(question.id, null, now))) return
  publishResolved(question, after, 'cancelled')
  yield* removeButtons(deps, question, { kind: 'cancelled' }, undefined, after, now)
}

/** Edits the question's message if it has buttons and its id is known. Only the first edit of a question counts. */
export function* removeButtons(
  deps: QuestionsDeps,
  question: StoredQuestion,
  ending: QuestionResult,
  messageId: string | undefined,
  after: AfterCommit,
  now: number,
): Transaction<boolean> {
  if (!question.buttons) return false
  const platformId = messageId ?? (yield* deps.sentMessageId(replyKeyOf(question.id)))
  if (platformId === undefined) return false
  const draft = { platformId, shownText: '' }
  const key = `${replyKeyOf(question.id)}:closed`
  yield* after.send({ ...replyAddress(question), key, text: resolvedText(question, ending), draft }, now)
  return true
}

function* applyEffect(
  deps: QuestionsDeps,
  { id, sessionKey }: StoredQuestion,
  { event }: Effect,
  reason: string | undefined,
  after: AfterCommit,
  now: number,
): Transaction<void> {
  if (event === undefined) return
  const metadata = { ...event.metadata, question: id, ...(reason === undefined ? {} : { reason }) }
  yield* deps.enqueueEvent({ ...event, timestamp: now, internal: true, metadata }, sessionKey, replyKeyOf(id), now)
  after.wake(sessionKey)
}

function replyAddress({ source, sessionKey }: StoredQuestion) {
  return { target: targetOf(source), sessionKey, kind: 'notice' as const }
}

type FinalState = 'answered' | 'expired' | 'replaced' | 'cancelled'

function publishResolved(
  question: StoredQuestion,
  { resolved, emit, notifyPlugins }: AfterCommit,
  outcome: FinalState,
  answer = '',
  by = '',
): void {
  resolved(question.id)
  emit(question.source, 'approval:resolved', { ...approvalEventContext(question), outcome, answer, resolved_by: by })
  notifyPlugins((plugins) => {
    const asked = approvalInfo(question)
    if (asked !== undefined) plugins.approvalResolved(asked, approvalChoiceOf(outcome, answer), by)
  })
}

/** Undefined for questions other than approvals. */
export function approvalInfo({
  sessionKey,
  source,
  about,
}: Pick<Question, 'sessionKey' | 'source' | 'about'>): ApprovalInfo | undefined {
  return about === undefined ? undefined : { sessionKey, source, about }
}

/** In the terms of the contract. */
function approvalChoiceOf(outcome: FinalState, answer: string): ApprovalChoice {
  if (outcome !== 'answered') return outcome === 'expired' ? 'timeout' : 'cancelled'
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
