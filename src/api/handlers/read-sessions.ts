/**
 * Reads sessions and messages in the shapes of the JSON API. Runs in a thread with a read-only connection.
 */
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import type { Attachment } from '../../message/event.ts'
import { ownWords } from '../../message/own-words.ts'
import type { ImagePart, ToolCall } from '../../message/transcript.ts'
import { listFilesOfTurn } from '../../outbox/files-of-turn.ts'
import { listTurnInputs } from '../../sessions/conversation-edits.ts'
import {
  findHits,
  findListedMessage,
  findListedSession,
  isAtEndOfTurn,
  type ListedMessage,
  type ListedSession,
  listMessages,
  listSessions,
  type MessageFilter,
  type MessagePosition,
  type SessionFilter,
  type SessionPosition,
  type SessionSearch,
  type ToolCallOutcome,
  toolCallOutcomes,
} from '../../sessions/session-list.ts'
import { countMessages } from '../../sessions/session-queries.ts'
import { readSaidMessages } from '../../sessions/trajectory-messages.ts'
import { row, type Transaction } from '../../store/query.ts'
import { parseRecallQuery } from '../../store/sqlite/recall-query.ts'
import type { ApiMessage, ApiSession } from '../shapes/sessions.ts'
import type { ReadAnswer, StoredFile } from './read-answer.ts'
import { toTrajectory } from './trajectory.ts'

export interface SessionsRequest {
  readonly kind: 'sessions'
  readonly filter: Pick<SessionFilter, 'platform' | 'chat' | 'current' | 'session_key' | 'directory' | 'pinned'> & {
    readonly search?: string | undefined
  }
  readonly before?: SessionPosition | undefined
  readonly limit: number
}

export interface MessagesRequest {
  readonly kind: 'messages'
  readonly session: string
  readonly filter: MessageFilter
  readonly from?: MessagePosition | undefined
  readonly direction: 'older' | 'newer'
  readonly limit: number
}

export type ReadRequest =
  | SessionsRequest
  | MessagesRequest
  | { readonly kind: 'session' | 'trajectory'; readonly session: string }
  | { readonly kind: 'message'; readonly session: string; readonly message: number }
  | { readonly kind: 'file'; readonly session: string; readonly message: number; readonly index: number }

export function* readSessions(request: ReadRequest): Transaction<ReadAnswer> {
  switch (request.kind) {
    case 'sessions':
      return yield* readPage(request)
    case 'messages':
      return yield* readMessages(request)
    case 'session': {
      const session = yield* findListedSession(request.session)
      return session === undefined ? absentSession : { kind: 'session', session: yield* toSession(session) }
    }
    case 'trajectory': {
      const said = yield* readSaidMessages(request.session)
      if (said === undefined) return absentSession
      return { kind: 'trajectory', trajectory: { session_id: request.session, ...toTrajectory(said) } }
    }
    case 'message': {
      if ((yield* findListedSession(request.session)) === undefined) return absentSession
      const message = yield* findListedMessage(request.session, request.message)
      if (message === undefined) return { kind: 'absent', what: 'message' }
      return { kind: 'message', message: yield* toMessage(request.session, message, Number.POSITIVE_INFINITY) }
    }
    case 'file': {
      const message = yield* findListedMessage(request.session, request.message)
      const file = message === undefined ? undefined : (yield* filesOf(request.session, message))[request.index]
      if (file === undefined) return { kind: 'absent', what: 'message' }
      return { kind: 'file', stored: file.stored }
    }
  }
}

const absentSession = { kind: 'absent', what: 'session' } as const

function* readPage({ filter, before, limit }: SessionsRequest): Transaction<ReadAnswer> {
  const search = filter.search === undefined ? undefined : searchOf(filter.search)
  if (search === 'nothing') return { kind: 'sessions', sessions: [], hasMore: false }
  const listed = yield* listSessions({ ...filter, search }, before, limit + 1)
  const page = listed.slice(0, limit)
  const hits =
    search === undefined
      ? undefined
      : yield* findHits(
          search,
          page.map(({ id }) => id),
        )
  const sessions = []
  for (const listed of page) {
    const session = yield* toSession(listed)
    const hit = hits?.get(listed.id)
    const match =
      hit === undefined
        ? {}
        : {
            match: {
              message_id: String(hit.id),
              role: hit.role,
              created_at: toTime(hit.created_at),
              excerpt: hit.excerpt,
            },
          }
    sessions.push({ entry: { ...session, ...match }, position: { at: listed.updated_at, id: listed.id } })
  }
  return { kind: 'sessions', sessions, hasMore: listed.length > limit }
}

/** Signs alone are searched as they are. */
function searchOf(words: string): SessionSearch | 'nothing' {
  const { expressions, texts } = parseRecallQuery(words)
  const [match] = expressions
  if (match !== undefined) return { match }
  return texts.length === 0 ? 'nothing' : { texts }
}

function* toSession(session: ListedSession): Transaction<ApiSession> {
  const { source, id } = session
  return {
    id,
    session_key: session.session_key,
    platform: session.platform,
    account: source?.account ?? null,
    chat_id: source?.chatId ?? null,
    chat_type: source?.chatType ?? null,
    chat_name: source?.chatName ?? null,
    thread_id: source?.threadId ?? null,
    directory: session.directory,
    user_id: session.user_id === '' ? null : session.user_id,
    title: session.title,
    about: session.about,
    is_current: session.isCurrent,
    pinned: session.pinned === 1,
    created_at: toTime(session.created_at),
    updated_at: toTime(session.updated_at),
    ended_at: session.ended_at === null ? null : toTime(session.ended_at),
    end_reason: session.end_reason,
    parent_id: session.parent_id,
    message_count: (yield* row(countMessages, { session_id: id }))?.count ?? 0,
    input_tokens: session.input_tokens,
    output_tokens: session.output_tokens,
    cost: session.cost,
  }
}

/** Characters of a message in a page. */
const maxTextChars = 16_000
/** Characters of the arguments of a call. */
const maxArgumentChars = 500

function* readMessages({ session, filter, from, direction, limit }: MessagesRequest): Transaction<ReadAnswer> {
  if ((yield* findListedSession(session)) === undefined) return absentSession
  const start = from ?? (direction === 'older' ? lastPosition : firstPosition)
  const listed = yield* listMessages(session, filter, start, direction, limit + 1)
  const outcomes = new Map<string, Map<string, ToolCallOutcome>>()
  const messages = []
  for (const message of listed.slice(0, limit)) {
    const entry = yield* toMessage(session, message, maxTextChars, outcomes)
    messages.push({ entry, position: { ord: message.ord, id: message.id } })
  }
  return { kind: 'messages', messages, hasMore: listed.length > limit }
}

const firstPosition: MessagePosition = { ord: -1, id: 0 }
const lastPosition: MessagePosition = { ord: Number.MAX_SAFE_INTEGER, id: 0 }

function* toMessage(
  sessionId: string,
  stored: ListedMessage,
  maxChars: number,
  outcomes = new Map<string, Map<string, ToolCallOutcome>>(),
): Transaction<ApiMessage> {
  const { role, turn_id, superseded, is_summary } = stored
  const text = role === 'user' ? ownWords(stored.content) : stored.content
  const truncated = text.length > maxChars || stored.text_id !== null
  return {
    id: String(stored.id),
    role,
    text: truncated ? text.slice(0, maxChars).toWellFormed() : text,
    truncated,
    tool_calls: yield* toolCallsOf(stored, outcomes),
    tool_call_id: stored.tool_call_id,
    tool_name: stored.tool_name,
    attachments: (yield* filesOf(sessionId, stored)).map(({ shown }) => shown),
    status: superseded === 0 ? 'active' : superseded > 0 ? 'summarised' : superseded === -1 ? 'failed' : 'withdrawn',
    is_summary: is_summary === 1,
    turn_id,
    created_at: toTime(stored.created_at),
  }
}

function* toolCallsOf(
  { tool_calls, turn_id }: ListedMessage,
  outcomes: Map<string, Map<string, ToolCallOutcome>>,
): Transaction<ApiMessage['tool_calls']> {
  if (tool_calls === null) return []
  // The transcript has written it, so its shape is known.
  const calls: readonly ToolCall[] = JSON.parse(tool_calls)
  const known = turn_id === null ? undefined : (outcomes.get(turn_id) ?? (yield* toolCallOutcomes(turn_id)))
  if (turn_id !== null && known !== undefined) outcomes.set(turn_id, known)
  return calls.map((call) => {
    const { state = null, label = '', summary = '' } = known?.get(call.id) ?? {}
    const cut = call.arguments.slice(0, maxArgumentChars).toWellFormed()
    return { id: call.id, name: call.name, arguments: cut, state, label, summary }
  })
}

interface FileOfMessage {
  readonly shown: ApiMessage['attachments'][number]
  /** Null for a file that the gateway does not keep. */
  readonly stored: StoredFile | null
}

/** Files are stored with the turn: those of the person belong to its first message, those of the agent to its last. */
function* filesOf(sessionId: string, stored: ListedMessage): Transaction<FileOfMessage[]> {
  const { role, turn_id, images } = stored
  const files: FileOfMessage[] = []
  if (turn_id !== null && role === 'user' && (yield* isAtEndOfTurn(sessionId, stored, 'first'))) {
    for (const { how, payload } of yield* listTurnInputs(turn_id)) {
      if (how === 'steered') continue
      const { attachments = [] } = parseStoredEvent(payload)
      files.push(...attachments.filter(({ quoted }) => quoted !== true).map(receivedFile))
    }
  }
  if (turn_id !== null && role === 'assistant' && (yield* isAtEndOfTurn(sessionId, stored, 'last'))) {
    for (const { kind, fileName, mimeType } of yield* listFilesOfTurn(turn_id))
      files.push({ shown: { kind, file_name: fileName, mime_type: mimeType, bytes: null }, stored: null })
  }
  if (files.length > 0 || images === null) return files
  // The transcript has written it, so its shape is known.
  const pictures: readonly ImagePart[] = JSON.parse(images)
  return pictures.map(({ file, mimeType, bytes }) => ({
    shown: { kind: 'photo', file_name: file, mime_type: mimeType, bytes },
    stored: { picture: file },
  }))
}

function receivedFile({ kind, fileName = '', mimeType, bytes, path }: Attachment): FileOfMessage {
  const shown = { kind, file_name: fileName, mime_type: mimeType ?? null, bytes: bytes ?? null }
  return { shown, stored: path === undefined ? null : { path } }
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}
