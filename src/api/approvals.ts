/**
 * `/api/approvals/pending` and `/api/approvals/decide`: the questions of all chats that wait for an answer.
 */
import type { QuestionsDeps } from '../approvals/contract.ts'
import { decideQuestion } from '../approvals/decide.ts'
import { type StoredQuestion, waitingApprovals } from '../approvals/queries.ts'
import { parseInput } from '../lib/parse-input.ts'
import type { SessionSource } from '../message/source.ts'
import type { Store } from '../store/store.ts'
import { cleanQuestion } from './clean-texts.ts'
import type { ApiRequest } from './request.ts'
import { type ApiDecided, type ApiPending, type ApiQuestion, decideBody, pendingQuery } from './shapes.ts'

export interface ApprovalsApiDeps {
  readonly store: Store
  readonly clock: () => number
  /** Replaces the secrets of the gateway in a text. */
  withhold(text: string): string
  /** What the buttons and the commands of chats answer with. */
  readonly questions: QuestionsDeps
}

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
  { store, clock, withhold }: ApprovalsApiDeps,
  { query }: ApiRequest,
): Promise<ApiPending> {
  const { platform, chat, session_key } = parseInput(pendingQuery, query)
  const now = clock()
  const waiting = await store.run(waitingApprovals)
  const questions = waiting.filter(
    ({ source, sessionKey, expiresAt }) =>
      expiresAt > now &&
      (platform === undefined || source.platform === platform) &&
      (chat === undefined || source.chatId === chat) &&
      (session_key === undefined || sessionKey === session_key),
  )
  return { questions: questions.map((one) => cleanQuestion(withhold, toQuestion(one))) }
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

export async function decide({ questions }: ApprovalsApiDeps, request: ApiRequest): Promise<ApiDecided> {
  const { id, answer, text } = await request.body(decideBody)
  const { choice, changed } = await decideQuestion(questions, owner, { id, answer, text })
  return { ok: true, id, answer: choice.answer, says: choice.effect.says, changed }
}
