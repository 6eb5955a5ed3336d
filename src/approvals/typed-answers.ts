/**
 * Typed answers: `/approve [session|always|all]` and `/deny [all] [reason]` (contract §3.9).
 */
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { Transaction } from '../store/query.ts'
import type { AfterCommit, QuestionsDeps } from './after-commit.ts'
import { type StoredQuestion, waitingQuestions } from './queries.ts'
import type { Choice, Question } from './question.ts'
import { answerQuestion } from './resolve-question.ts'

export interface TypedAnswer {
  /** One of a choice's `typed`. */
  readonly words: string
  /** All open questions of the session, not only the oldest. */
  readonly all: boolean
  /** The reason that the user added. */
  readonly reason: string
  readonly by: SessionSource
}

const nothingPending = 'There is no open question in this session.'

/** The typed commands, one line for each choice. */
export function typedHints({ choices }: Pick<Question, 'choices'>, prefix: string): string {
  return choices
    .flatMap(({ label, typed: [words] }) => (words === undefined ? [] : [`- \`${prefix}${words}\`: ${label}`]))
    .join('\n')
}

/** Returns the reply. */
export function* applyTypedAnswer(
  deps: QuestionsDeps,
  sessionKey: SessionKey,
  { words, all, reason, by }: TypedAnswer,
  after: AfterCommit,
  now: number,
): Transaction<string> {
  const asked = (yield* waitingQuestions(sessionKey)).filter((one) => one.expiresAt > now && canBeTyped(one))
  // Approvals of tools come before confirmations of commands.
  const first = asked.find(({ kind }) => kind === 'approval') ?? asked[0]
  if (first === undefined) return nothingPending
  const replies: string[] = []
  for (const question of all ? asked : [first]) {
    const choice = findChoice(question, words)
    if (choice === undefined) {
      if (!all) return `This question takes:\n\n${typedHints(question, deps.commandPrefix(by.platform))}`
      continue
    }
    const added = reason === '' ? {} : { reason }
    if (yield* answerQuestion(deps, question, { choice, by, ...added }, after, now)) replies.push(choice.effect.says)
  }
  return replies.length === 0 ? nothingPending : replies.join('\n\n')
}

function canBeTyped({ choices }: StoredQuestion): boolean {
  return choices.some(({ typed }) => typed.length > 0)
}

function findChoice({ choices }: StoredQuestion, words: string): Choice | undefined {
  return choices.find(({ typed }) => typed.includes(words))
}
