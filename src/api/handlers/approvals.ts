/**
 * `/api/approvals/pending` and `/api/approvals/decide`: the questions of all chats that wait for an answer.
 */
import { decideQuestion } from '../../approvals/decide.ts'
import { type StoredQuestion, waitingApprovals } from '../../approvals/queries.ts'
import type { SessionSource } from '../../message/source.ts'
import type { ApiServices } from '../services.ts'
import type { ApiDecided, ApiPending, ApiQuestion, DecideBody, PendingQuery } from '../shapes/approvals.ts'
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
  { store, clock, outbox }: ApiServices,
  { platform, chat, session_key }: PendingQuery,
): Promise<ApiPending> {
  const now = clock()
  const waiting = await store.run(waitingApprovals)
  const questions = waiting.filter(
    ({ source, sessionKey, expiresAt }) =>
      expiresAt > now &&
      (platform === undefined || source.platform === platform) &&
      (chat === undefined || source.chatId === chat) &&
      (session_key === undefined || sessionKey === session_key),
  )
  return { questions: questions.map((question) => cleanQuestion(outbox.withhold, toQuestion(question))) }
}

function toQuestion({
  id,
  kind,
  sessionKey,
  source,
  turnId,
  about,
  text,
  choices,
  expiresAt,
}: StoredQuestion): ApiQuestion {
  return {
    id,
    kind: kind === 'clarify' ? 'clarify' : 'approval',
    session_key: sessionKey,
    turn_id: turnId ?? about?.turnId ?? null,
    platform: source.platform,
    account: source.account,
    chat_id: source.chatId,
    chat_type: source.chatType,
    chat_name: source.chatName ?? null,
    thread_id: source.threadId ?? null,
    user_id: source.userId ?? null,
    user_name: source.userName ?? null,
    text,
    command: about?.command ?? null,
    description: about?.description ?? null,
    choices: choices.flatMap(({ answer, label }) => (answer === 'other' ? [] : [{ answer, label }])),
    accepts_text: choices.some(({ answer }) => answer === 'other'),
    expires_at: new Date(expiresAt).toISOString(),
  }
}

export async function decide({ questions }: ApiServices, { id, answer, text }: DecideBody): Promise<ApiDecided> {
  const { choice, changed } = await decideQuestion(questions, owner, { id, answer, text })
  return { ok: true, id, answer: choice.answer, says: choice.effect.says, changed }
}
