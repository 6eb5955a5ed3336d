/**
 * Answers in plain words: yes, no or a thumb to the question of a tool, and any text to a question of the agent.
 */
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Transaction } from '../store/query.ts'
import { maxReasonChars, mayAnswer } from './answers.ts'
import type { QuestionsDeps } from './contract.ts'
import { type StoredQuestion, waitingQuestions } from './queries.ts'
import type { Choice, Question } from './question.ts'
import { answerQuestion } from './resolve-question.ts'

const yes = /^(?:y|yes|ok|okay|👍\p{EMod}?)[.!]*$/iu
const no = /^(?:n|no|👎\p{EMod}?)[.!]*$/iu

/** The typed command that a plain word stands for. */
export function plainWordOf(text: string): 'approve' | 'deny' | undefined {
  const word = text.trim()
  if (yes.test(word)) return 'approve'
  return no.test(word) ? 'deny' : undefined
}

/**
 * Whether a message answers one of these open questions of its session. Only the user who was asked can answer without a
 * command or a button, and the question of a tool only in a private chat.
 */
export function isPlainAnswer(
  { source, text, internal, allowGatewayControl, attachments = [] }: MessageEvent,
  open: readonly Pick<Question, 'kind' | 'source'>[],
): boolean {
  if (internal === true || allowGatewayControl === false || attachments.length > 0 || text.trim() === '') return false
  const senderQuestions = open.filter((question) => (question.source.userId ?? '') === (source.userId ?? ''))
  if (senderQuestions.some(({ kind }) => kind === 'clarify')) return true
  return (
    source.chatType === 'dm' &&
    plainWordOf(text) !== undefined &&
    senderQuestions.some(({ kind }) => kind === 'approval')
  )
}

/** Returns the reply; '' when the answer needs none. */
export function* applyPlainAnswer(
  deps: QuestionsDeps,
  sessionKey: SessionKey,
  { source, text }: MessageEvent,
  now: number,
): Transaction<string> {
  const open = (yield* waitingQuestions(sessionKey)).filter(
    (question) => question.expiresAt > now && mayAnswer(deps, question, source),
  )
  const word = plainWordOf(text)
  const approval = word === undefined ? undefined : open.find(({ kind }) => kind === 'approval')
  const question = approval ?? open.find(({ kind }) => kind === 'clarify')
  const answer = question === undefined ? undefined : answerOf(question, word, text.trim())
  if (question === undefined || answer === undefined)
    return 'My question is no longer open. If this was for me, please send it again.'
  yield* answerQuestion(deps, question, { ...answer, by: source }, now)
  return question.kind === 'clarify' ? '' : answer.choice.effect.says
}

function answerOf(
  { kind, choices }: StoredQuestion,
  word: 'approve' | 'deny' | undefined,
  text: string,
): { readonly choice: Choice; readonly reason?: string } | undefined {
  if (kind === 'approval') {
    const choice = choices.find(({ typed }) => word !== undefined && typed.includes(word))
    return choice === undefined ? undefined : { choice }
  }
  const other = choices.find(({ answer }) => answer === 'other')
  return other === undefined ? undefined : { choice: other, reason: text.slice(0, maxReasonChars).toWellFormed() }
}
