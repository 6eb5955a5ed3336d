/**
 * `/api/approvals/pending` and `/api/approvals/decide`: the questions of all chats that wait for an answer.
 */
import { z } from 'zod'
import { decideQuestion } from '../../approvals/decide.ts'
import type { SessionSource } from '../../message/source.ts'
import type { ApiServices } from '../services.ts'
import {
  type ApiDecided,
  type ApiPending,
  type DecideBody,
  type PendingQuery,
  questionShape,
} from '../shapes/approvals.ts'
import { askReader } from './ask-reader.ts'
import { cleanQuestion } from './clean-texts.ts'

/** The person who holds the token, as on the page and in the terminal. */
const owner: SessionSource = {
  platform: 'api',
  account: 'default',
  chatId: 'api',
  chatType: 'dm',
  userId: 'owner',
  userName: 'owner (API)',
}

export async function listPending(
  services: ApiServices,
  { platform, chat, session_key }: PendingQuery,
  signal: AbortSignal,
): Promise<ApiPending> {
  const now = services.clock()
  const waiting = await askReader(services, { about: 'questions' }, z.array(questionShape), signal)
  const questions = waiting.filter(
    (question) =>
      Date.parse(question.expires_at) > now &&
      (platform === undefined || question.platform === platform) &&
      (chat === undefined || question.chat_id === chat) &&
      (session_key === undefined || question.session_key === session_key),
  )
  return { questions: questions.map((question) => cleanQuestion(services.outbox.withhold, question)) }
}

export async function decide({ questions }: ApiServices, { id, answer, text }: DecideBody): Promise<ApiDecided> {
  const { choice, changed } = await decideQuestion(questions, owner, { id, answer, text })
  return { ok: true, id, answer: choice.answer, says: choice.effect.says, changed }
}
