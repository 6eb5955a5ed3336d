/**
 * Resolves a question: answered, expired, replaced or cancelled. One transaction contains the choice, its effect and the
 * edit that removes the buttons.
 */
import { acceptEvent } from '../inbox/queries.ts'
import { serializeEvent } from '../inbox/stored-event.ts'
import { type SessionSource, targetOf } from '../message/source.ts'
import { toMarkdownLabel } from '../message/untrusted-text.ts'
import { findButtonsMessageId } from '../outbox/queries.ts'
import { afterCommit, enlist, type Transaction } from '../store/query.ts'
import type { ApprovalChoice, ApprovalInfo, QuestionsDeps } from './contract.ts'
import { grantInSession, grantUntilEnd, resolveQuestion, type StoredQuestion } from './queries.ts'
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
