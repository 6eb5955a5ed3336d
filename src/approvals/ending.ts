/**
 * How a question ends: answered, expired or asked anew. One transaction holds the choice, what follows from it, and the
 * edit that takes the buttons away.
 */
import { type SessionSource, targetOf } from '../message/source.ts'
import type { UseCase } from '../store/query.ts'
import { closedText, type Ending, endingText, shownName } from './closing.ts'
import { grantInSession, grantUntilEnd, type StoredQuestion, settleQuestion } from './queries.ts'
import type { Choice, Consequence, Question } from './question.ts'
import type { Aftermath, ApprovalChoice, QuestionsDeps, WatchedApproval } from './room.ts'

export interface Answer {
  readonly choice: Choice
  readonly by: SessionSource
  /** What the person added in words. */
  readonly reason?: string
  /** The message whose button was pressed. */
  readonly messageId?: string
}

/** The key of the message that asks. */
export function replyKeyOf(id: string): string {
  return `question:${id}`
}

/** False when the question had ended before: then nothing follows. */
export function* answerQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  { choice, by, reason, messageId }: Answer,
  after: Aftermath,
  now: number,
): UseCase<boolean> {
  const user = by.userId ?? ''
  const words = reason === undefined ? {} : { reason }
  if (!(yield* settleQuestion(question.id, { choice: choice.answer, by: user, ...words }, now))) return false
  after.answered()
  tellResolved(question, after, 'answered', choice.answer, user)
  const { grant, grantEndsWith } = choice.effect
  if (grant !== undefined) {
    if (grantEndsWith === undefined) yield* grantInSession(question.sessionKey, grant, user, now)
    else yield* grantUntilEnd(grantEndsWith, grant, user, now)
  }
  yield* follow(deps, question, choice.effect, reason, after, now)
  const ending = { kind: 'chosen', choice, by: shownName(by), ...words } as const
  yield* takeButtons(deps, question, ending, messageId, after, now)
  return true
}

/** Nobody chose. Where no buttons can be taken away, people are told in a message of its own. */
export function* expireQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  after: Aftermath,
  now: number,
  messageId?: string,
): UseCase<void> {
  if (!(yield* settleQuestion(question.id, null, now))) return
  tellResolved(question, after, 'expired')
  yield* follow(deps, question, question.unanswered, undefined, after, now)
  const ending = { kind: 'unanswered', says: question.unanswered.says } as const
  if (yield* takeButtons(deps, question, ending, messageId, after, now)) return
  const key = `${replyKeyOf(question.id)}:expired`
  yield* after.send({ ...addressOf(question), key, text: endingText(ending) }, now)
}

/** The same was asked once more: only the newer question takes an answer. */
export function* replaceQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  after: Aftermath,
  now: number,
): UseCase<void> {
  if (!(yield* settleQuestion(question.id, null, now))) return
  tellResolved(question, after, 'replaced')
  yield* takeButtons(deps, question, { kind: 'replaced' }, undefined, after, now)
}

/** Whatever it was asked for is over: an answer would change nothing any more. */
export function* cancelQuestion(
  deps: QuestionsDeps,
  question: StoredQuestion,
  after: Aftermath,
  now: number,
): UseCase<void> {
  if (!(yield* settleQuestion(question.id, null, now))) return
  tellResolved(question, after, 'cancelled')
  yield* takeButtons(deps, question, { kind: 'cancelled' }, undefined, after, now)
}

/** Edits the message that asked, where it has buttons and its id is known. The first edit of a question counts. */
export function* takeButtons(
  deps: QuestionsDeps,
  question: StoredQuestion,
  ending: Ending,
  messageId: string | undefined,
  after: Aftermath,
  now: number,
): UseCase<boolean> {
  if (!question.buttons) return false
  const platformId = messageId ?? (yield* deps.sentAs(replyKeyOf(question.id)))
  if (platformId === undefined) return false
  const draft = { platformId, shownText: '' }
  const key = `${replyKeyOf(question.id)}:closed`
  yield* after.send({ ...addressOf(question), key, text: closedText(question, ending), draft }, now)
  return true
}

function* follow(
  deps: QuestionsDeps,
  { id, sessionKey }: StoredQuestion,
  { event }: Consequence,
  reason: string | undefined,
  after: Aftermath,
  now: number,
): UseCase<void> {
  if (event === undefined) return
  const metadata = { ...event.metadata, question: id, ...(reason === undefined ? {} : { reason }) }
  yield* deps.handIn({ ...event, timestamp: now, internal: true, metadata }, sessionKey, replyKeyOf(id), now)
  after.wake(sessionKey)
}

function addressOf({ source, sessionKey }: StoredQuestion) {
  return { target: targetOf(source), sessionKey, kind: 'notice' as const }
}

type Outcome = 'answered' | 'expired' | 'replaced' | 'cancelled'

function tellResolved(
  question: StoredQuestion,
  { ended, tell, watch }: Aftermath,
  outcome: Outcome,
  answer = '',
  by = '',
): void {
  ended(question.id)
  tell(question.source, 'approval:resolved', { ...approvalContext(question), outcome, answer, resolved_by: by })
  watch((plugins) => {
    const asked = watchedApproval(question)
    if (asked !== undefined) plugins.approvalEnded(asked, choiceOf(outcome, answer), by)
  })
}

/** Undefined for questions that are no approvals. */
export function watchedApproval({
  sessionKey,
  source,
  about,
}: Pick<Question, 'sessionKey' | 'source' | 'about'>): WatchedApproval | undefined {
  return about === undefined ? undefined : { sessionKey, source, about }
}

/** In the contract's words; any other way to say no is one. */
function choiceOf(outcome: Outcome, answer: string): ApprovalChoice {
  if (outcome !== 'answered') return outcome === 'expired' ? 'timeout' : 'cancelled'
  return answer === 'once' || answer === 'session' || answer === 'always' ? answer : 'deny'
}

/** What events of a question have in common. */
export function approvalContext({
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
