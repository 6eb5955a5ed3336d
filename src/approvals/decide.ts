/**
 * The answer of the person who holds the token of the gateway to a question of any chat (`POST /api/approvals/decide`). Loaded with
 * the first one.
 */
import { HermesError } from '../lib/errors.ts'
import type { SessionSource } from '../message/source.ts'
import { toMarkdownLabel } from '../message/untrusted-text.ts'
import { enlist, type Transaction } from '../store/query.ts'
import type { QuestionsDeps } from './contract.ts'
import { findQuestion, type StoredQuestion } from './queries.ts'
import type { Choice } from './question.ts'
import { answerQuestion, expireQuestion, replyAddress, replyKeyOf, resultLine } from './resolve-question.ts'

export interface Decision {
  readonly id: string
  /** The `answer` of a choice. */
  readonly answer?: string | undefined
  /** The answer in words to a question of the agent; otherwise the reason. */
  readonly text?: string | undefined
}

export interface Decided {
  readonly choice: Pick<Choice, 'answer' | 'effect'>
  /** False when the same answer was given before. */
  readonly changed: boolean
}

/**
 * Answers a question and says so in its chat.
 * Rejects `approvals/…`, `http/bad-request`, `http/starting` or `store/…` when nothing was stored.
 */
export async function decideQuestion(deps: QuestionsDeps, by: SessionSource, decision: Decision): Promise<Decided> {
  if (!deps.isOpen()) throw new HermesError('http/starting')
  const now = deps.clock()
  const result = await deps.store.run(() => applyDecision(deps, by, decision, now))
  if (result instanceof HermesError) throw result
  const { id } = decision
  const { answer } = result.choice
  deps.log.info({ event: 'approval.decided', question: id, answer, changed: result.changed }, 'question decided')
  return result
}

/** An error is returned where a change is stored with it. */
function* applyDecision(
  deps: QuestionsDeps,
  by: SessionSource,
  { id, answer, text = '' }: Decision,
  now: number,
): Transaction<Decided | HermesError> {
  const question = yield* findQuestion(id)
  if (question === undefined || question.kind === 'slash-confirm')
    throw new HermesError('approvals/not-found', `(${id})`)
  const { choice, reason } = chosenBy(question, answer, text.trim())
  if (question.state === 'answered') {
    if (question.answer === choice.answer && (question.reason ?? '') === (reason ?? ''))
      return { choice, changed: false }
    const given = question.choices.find((choice) => choice.answer === question.answer)?.label ?? question.answer
    throw new HermesError('approvals/answered', `(${given})`)
  }
  if (question.state === 'expired') throw new HermesError('approvals/expired', question.unanswered.says)
  if (question.expiresAt <= now) {
    yield* expireQuestion(deps, question, now)
    return new HermesError('approvals/expired', question.unanswered.says)
  }
  // The token says that it is an owner, and not which one.
  if (question.approver === 'other_owner') throw new HermesError('approvals/refused')
  yield* answerQuestion(deps, question, { choice, by, reason }, now)
  if (!question.buttons) {
    // Where no buttons are removed, a message says it, as the reply to a typed answer does.
    const text = resultLine({ kind: 'chosen', choice, by: toMarkdownLabel(by.userName ?? ''), reason })
    yield* enlist(deps.outbox.prepare({ ...replyAddress(question), key: `${replyKeyOf(id)}:decided`, text }), now)
  }
  return { choice, changed: true }
}

/** Throws `http/bad-request`. */
function chosenBy(
  { choices, kind }: StoredQuestion,
  answer: string | undefined,
  text: string,
): { readonly choice: Choice; readonly reason?: string } {
  const otherChoice = choices.find((choice) => choice.answer === 'other')
  if (kind === 'clarify' && otherChoice !== undefined && text !== '' && (answer === undefined || answer === 'other'))
    return { choice: otherChoice, reason: text.toWellFormed() }
  const choice = choices.find((choice) => choice.answer === answer)
  if (choice !== undefined && choice !== otherChoice)
    return text === '' ? { choice } : { choice, reason: text.toWellFormed() }
  const possible = choices
    .filter((possibleChoice) => possibleChoice !== otherChoice)
    .map((possibleChoice) => possibleChoice.answer)
  const expected = [
    ...(possible.length === 0 ? [] : [`answer: one of ${possible.join(', ')}`]),
    ...(otherChoice ? ['text'] : []),
  ]
  throw new HermesError('http/bad-request', `Expected ${expected.join(', or ')}.`)
}
