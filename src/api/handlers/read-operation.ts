/**
 * Reads what happens now and what waits. Runs in the thread that reads for the JSON API.
 */
import { type StoredQuestion, waitingApprovals } from '../../approvals/queries.ts'
import { countDeadEvents, pageOfDeadEvents, pageOfOpenEvents } from '../../inbox/dead-letters.ts'
import { openMessages } from '../../inbox/open-messages.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { type LogLevel, type LogPosition, readLogPage } from '../../lib/log-files.ts'
import { shorten } from '../../lib/visible-text.ts'
import type { SessionSource } from '../../message/source.ts'
import { openReplies, pageOfDeadReplies, pageOfOpenReplies } from '../../outbox/open-replies.ts'
import { lastUseOfPlatforms, peopleWhoWrote } from '../../sessions/session-list.ts'
import { sessionById, sessionByKey } from '../../sessions/session-queries.ts'
import { readSpend, type SpendKey } from '../../sessions/spend.ts'
import { listOpenTurns } from '../../sessions/turns.ts'
import { row, rows, type Transaction } from '../../store/query.ts'
import type { ApiQuestion } from '../shapes/approvals.ts'

export type OperationRequest =
  | { readonly about: 'now' }
  | { readonly about: 'questions' }
  | {
      readonly about: 'queue'
      readonly of: 'messages' | 'replies'
      readonly state: 'open' | 'dead'
      readonly before: number
      readonly limit: number
    }
  | { readonly about: 'people'; readonly before: { readonly at: number; readonly key: string }; readonly limit: number }
  | { readonly about: 'spend'; readonly by: SpendKey; readonly since: number }
  | {
      readonly about: 'logs'
      readonly directory: string
      readonly level: LogLevel | undefined
      readonly event: string | undefined
      readonly session: string | undefined
      readonly before: LogPosition | undefined
      readonly limit: number
    }

type LogsRequest = Extract<OperationRequest, { readonly about: 'logs' }>
type QueueRequest = Extract<OperationRequest, { readonly about: 'queue' }>

const maxTurns = 200
const maxTextChars = 500

/** Its answers are those of the routes, of which the handlers add what only the main thread knows. */
export function* readOperation(request: OperationRequest): Transaction<unknown> {
  switch (request.about) {
    case 'now':
      return yield* readNow()
    case 'questions':
      return (yield* waitingApprovals()).map(toQuestion)
    case 'queue':
      return yield* request.of === 'messages' ? readMessages(request) : readReplies(request)
    case 'people':
      return yield* rows(peopleWhoWrote, { ...request.before, limit: request.limit })
    case 'spend':
      return yield* readSpend(request.by, request.since)
    case 'logs':
      return yield* readLogs(request)
  }
}

function* readNow(): Transaction<unknown> {
  const { count, oldestAt } = yield* openMessages()
  const replies = yield* openReplies()
  return {
    turns: (yield* rows(listOpenTurns, { limit: maxTurns })).map(({ origin, ...turn }) => {
      // The gateway has written it, so its shape is known.
      const source: SessionSource = JSON.parse(origin)
      return {
        id: turn.id,
        session_key: turn.session_key,
        session_id: turn.session_id,
        ...chatOf(source),
        user_name: source.userName ?? source.userId ?? null,
        title: turn.title ?? '',
        model: turn.model,
        state: turn.state,
        tool: turn.tool,
        is_stopping: turn.stop_requested === 1,
        outage_since: timeOf(turn.outage_since),
        started_at: timeOf(turn.started_at),
      }
    }),
    messages: { open: count, dead: yield* countDeadEvents(), oldest_at: timeOf(oldestAt) },
    replies: { open: replies.open, dead: replies.dead, oldest_at: timeOf(replies.oldestAt) },
    lastUse: (yield* rows(lastUseOfPlatforms, {})).map(({ platform, at }) => ({ platform, at: timeOf(at) })),
  }
}

function* readMessages({ state, before, limit }: QueueRequest): Transaction<unknown> {
  const page = yield* rows(state === 'dead' ? pageOfDeadEvents : pageOfOpenEvents, { before, limit })
  return page.map(({ seq, payload, accepted_at, ...event }) => ({
    ...event,
    id: seq,
    text: shorten(parseStoredEvent(payload).text, maxTextChars),
    at: timeOf(accepted_at),
  }))
}

function* readReplies({ state, before, limit }: QueueRequest): Transaction<unknown> {
  const page = yield* rows(state === 'dead' ? pageOfDeadReplies : pageOfOpenReplies, { before, limit })
  return page.map(({ text, error, created_at, ...reply }) => ({
    ...reply,
    text: shorten(text, maxTextChars),
    reason: error,
    at: timeOf(created_at),
  }))
}

/** The chat of a turn or of a question. */
function chatOf({ platform, account, chatId, chatType, chatName, threadId }: SessionSource) {
  const names = { chat_name: chatName ?? null, thread_id: threadId ?? null }
  return { platform, account, chat_id: chatId, chat_type: chatType, ...names }
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
    ...chatOf(source),
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

/** Most lines name the key of a conversation, and people see its id. */
function* readLogs({ directory, level, event, session, before, limit }: LogsRequest): Transaction<unknown> {
  const stored =
    session === undefined
      ? undefined
      : ((yield* row(sessionById, { id: session })) ?? (yield* row(sessionByKey, { key: session })))
  const sessions =
    session === undefined
      ? undefined
      : new Set([session, ...(stored === undefined ? [] : [stored.id, stored.session_key])])
  const { lines, hasMore } = readLogPage(directory, { level, event, sessions }, limit, before)
  return { lines: lines.map(({ text, position }) => ({ text, position })), hasMore }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
