/**
 * The answers of users: pressed buttons, and the typed commands `/approve [session|always|all]` and `/deny [all] [reason]`
 * (contract §3.9).
 */
import type { TypedAnswer } from '../commands/session.ts'
import type { ButtonPress } from '../message/change.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Button } from '../message/outbound.ts'
import type { SessionSource } from '../message/source.ts'
import type { PressResult } from '../platforms/context.ts'
import type { Transaction } from '../store/query.ts'
import type { QuestionsDeps } from './contract.ts'
import { findQuestion, type StoredQuestion, waitingQuestions } from './queries.ts'
import type { Approver, Choice, Question, QuestionKind } from './question.ts'
import { answerQuestion, expireQuestion, removeButtons } from './resolve-question.ts'

/** Limits a reason, and an answer in own words. */
export const maxReasonChars = 4_000

export const staleResult: PressResult = { status: 'stale', text: 'This question is no longer open.' }

/** The contract's forms (§3.2): `sc:<choice>:<id>`, `appr:<id>:<choice>`, `cl:<id>:<index>`. */
export function buttonsOf(id: string, { kind, choices }: Pick<Question, 'kind' | 'choices'>): Button[] {
  // Without choices to press, the answer is a message.
  const pressable = choices.some(({ answer }) => answer !== 'other') ? choices : []
  return pressable.map(({ answer, label, style }, index) => ({
    id: buttonId(id, kind, answer, index),
    label,
    style,
    ...(answer === 'other' ? { isText: true as const } : {}),
  }))
}

function buttonId(id: string, kind: QuestionKind, answer: string, index: number): string {
  switch (kind) {
    case 'slash-confirm':
      return `sc:${answer}:${id}`
    case 'approval':
      return `appr:${id}:${answer}`
    case 'clarify':
      return `cl:${id}:${index}`
  }
}

/** The question id of a button; undefined for other buttons. */
export function parseQuestionId(buttonId: string): string | undefined {
  const [kind, second, third, ...more] = buttonId.split(':')
  if (more.length > 0) return undefined
  if (kind === 'sc') return third
  return kind === 'appr' || kind === 'cl' ? second : undefined
}

/** Answers the question `id` with the pressed button. */
export function* applyPress(
  deps: QuestionsDeps,
  id: string,
  { source, buttonId, messageId, text = '' }: ButtonPress,
  now: number,
): Transaction<PressResult> {
  const question = yield* findQuestion(id)
  if (question === undefined || !isSameChat(question, source)) return staleResult
  const isOwnWords = question.kind === 'clarify' && text.trim() !== ''
  const index = isOwnWords ? -1 : buttonsOf(id, question).findIndex((button) => button.id === buttonId)
  const choice = isOwnWords ? question.choices.find(({ answer }) => answer === 'other') : question.choices[index]
  if (choice === undefined) return staleResult
  if (!mayAnswer(deps, question, source)) return { status: 'refused', text: whoMayAnswer(deps, question) }
  if (question.state === 'waiting' && question.expiresAt > now) {
    // The answer itself follows as a message.
    if (choice.answer === 'other' && !isOwnWords) return { status: 'taken', text: choice.effect.says }
    const reason = text.trim().slice(0, maxReasonChars).toWellFormed() || undefined
    yield* answerQuestion(deps, question, { choice, by: source, reason, messageId }, now)
    return { status: 'taken', text: isOwnWords ? 'Thank you.' : choice.effect.says }
  }
  return yield* rejectLatePress(deps, question, messageId, now)
}

/** Removes the buttons if they are still shown. */
function* rejectLatePress(
  deps: QuestionsDeps,
  question: StoredQuestion,
  messageId: string | undefined,
  now: number,
): Transaction<PressResult> {
  if (question.state === 'waiting') yield* expireQuestion(deps, question, now, messageId)
  const chosen = question.choices.find(({ answer }) => answer === question.answer)
  if (chosen === undefined) {
    const result = { kind: 'unanswered', says: question.unanswered.says } as const
    yield* removeButtons(deps, question, result, messageId, now)
    return { status: 'stale', text: `This has expired. ${question.unanswered.says}` }
  }
  yield* removeButtons(deps, question, { kind: 'chosen', choice: chosen }, messageId, now)
  return { status: 'stale', text: `This was answered before: ${chosen.label}.` }
}

/** For a question about a command, whom `approver` names. For others the user who was asked, or any user of a shared session. */
export function mayAnswer(
  { accounts }: QuestionsDeps,
  { source, approver }: StoredQuestion,
  by: SessionSource,
): boolean {
  const { userId = '', userIdAlt = '' } = source
  const isSame = (by.userId ?? '') === userId || (userIdAlt !== '' && by.userIdAlt === userIdAlt)
  if (approver === undefined) return isSame || accounts.isShared(source)
  if (approver === 'requester' && isSame) return true
  if (approver === 'other_owner' && isSame) return false
  return accounts.authorityOf(by).role === 'owner'
}

/** The same, as a sentence for the question and for the refusal of other people. */
export function whoMayAnswer(
  { accounts }: QuestionsDeps,
  { source, approver }: Pick<Question, 'source' | 'approver'>,
): string {
  if (approver !== undefined) return approverTexts[approver]
  return accounts.isShared(source)
    ? 'Everyone who may write to the agent here may answer.'
    : 'Only the person who asked for it may answer.'
}

const approverTexts: Readonly<Record<Approver, string>> = {
  requester: 'The person who asked for it, or an owner, may answer.',
  owner: 'Only an owner may answer.',
  other_owner: 'Only an owner who did not ask for it may answer.',
}

/** A press counts only in the chat of the question. */
function isSameChat({ source }: StoredQuestion, { platform, account, chatId }: SessionSource): boolean {
  return source.platform === platform && source.account === account && source.chatId === chatId
}

const nothingPending = 'There is no open question in this session.'

/** What stands before a typed command on this platform. */
export function commandPrefix({ accounts }: QuestionsDeps, platform: string): string {
  return accounts.platform(platform)?.commandPrefix ?? '/'
}

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
  now: number,
): Transaction<string> {
  const waiting = (yield* waitingQuestions(sessionKey)).filter(
    (question) => question.expiresAt > now && canBeTyped(question),
  )
  const open = waiting.filter((question) => mayAnswer(deps, question, by))
  const [oldest] = waiting
  if (open.length === 0 && oldest !== undefined) return whoMayAnswer(deps, oldest)
  // Approvals of tools come before confirmations of commands.
  const first = open.find(({ kind }) => kind === 'approval') ?? open[0]
  if (first === undefined) return nothingPending
  const replies: string[] = []
  for (const question of all ? open : [first]) {
    const choice = findChoice(question, words)
    if (choice === undefined) {
      if (!all) return `This question takes:\n\n${typedHints(question, commandPrefix(deps, by.platform))}`
      continue
    }
    const given = { choice, by, reason: reason || undefined }
    if (yield* answerQuestion(deps, question, given, now)) replies.push(choice.effect.says)
  }
  return replies.length === 0 ? nothingPending : replies.join('\n\n')
}

function canBeTyped({ choices }: StoredQuestion): boolean {
  return choices.some(({ typed }) => typed.length > 0)
}

function findChoice({ choices }: StoredQuestion, words: string): Choice | undefined {
  return choices.find(({ typed }) => typed.includes(words))
}
