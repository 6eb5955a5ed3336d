/**
 * `/api/sessions`: lists sessions, and shows one, its messages and their files.
 */
import { join, relative } from 'node:path'
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import { openStoredFile } from '../../media/file-store.ts'
import { indexNewMessages } from '../../store/search-index.ts'
import type { ApiServices } from '../services.ts'
import type {
  ApiMessages,
  ApiSessions,
  ApiTrajectory,
  messageResponse,
  messagesQuery,
  sessionResponse,
  sessionsQuery,
} from '../shapes/sessions.ts'
import { cleanMessage, cleanSession, cleanTrajectory } from './clean-texts.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { type ReadAnswer, readAnswer } from './read-answer.ts'
import type { ReadRequest } from './read-sessions.ts'

/** Rejects `sessions/not-found`. */
async function read<Kind extends ReadRequest['kind']>(
  { opened, home }: ApiServices,
  request: ReadRequest & { readonly kind: Kind },
  signal: AbortSignal,
): Promise<AnswerTo<Kind>> {
  const asked: ReadRequest = request
  const answer = readAnswer.parse(await opened.reader().ask({ database: home.databaseFile, request }, signal))
  if (answersTo<Kind>(asked.kind, answer)) return answer
  const what = answer.kind === 'absent' && answer.what === 'message' ? 'the message of session' : 'session'
  throw new HermesError('sessions/not-found', `(${what} ${JSON.stringify('session' in asked ? asked.session : '')})`)
}

type AnswerTo<Kind> = Extract<ReadAnswer, { readonly kind: Kind }>

function answersTo<Kind extends ReadAnswer['kind']>(
  kind: ReadAnswer['kind'],
  answer: ReadAnswer,
): answer is AnswerTo<Kind> {
  return answer.kind === kind
}

const sessionPosition = z.tuple([z.number(), z.string()])

export async function listSessions(
  services: ApiServices,
  { limit, cursor, ...filter }: z.output<typeof sessionsQuery>,
  signal: AbortSignal,
): Promise<ApiSessions> {
  const { platform, chat, search, current, session_key, directory, pinned } = filter
  const list = ['sessions', platform, chat, search, current, session_key, directory, pinned]
  const position = decodeCursor(list, cursor, sessionPosition)
  if (filter.search !== undefined) await indexNewMessages(services.store)
  const before = position === undefined ? undefined : { at: position[0], id: position[1] }
  const { sessions, hasMore } = await read(services, { kind: 'sessions', filter, before, limit }, signal)
  const last = hasMore ? sessions.at(-1)?.position : undefined
  return {
    sessions: sessions.map(({ entry }) => cleanSession(services.outbox.withhold, entry)),
    next_cursor: last === undefined ? null : encodeCursor(list, [last.at, last.id]),
  }
}

export async function showSession(
  services: ApiServices,
  id: string,
  signal: AbortSignal,
): Promise<z.output<typeof sessionResponse>> {
  const { session } = await read(services, { kind: 'session', session: id }, signal)
  return { session: cleanSession(services.outbox.withhold, session) }
}

export async function readTrajectory(
  services: ApiServices,
  session: string,
  signal: AbortSignal,
): Promise<ApiTrajectory> {
  const { trajectory } = await read(services, { kind: 'trajectory', session }, signal)
  return cleanTrajectory(services.outbox.withhold, trajectory)
}

interface MessageOfPath {
  readonly session_id: string
  readonly message_id: string
}

export async function readMessage(
  services: ApiServices,
  { session_id, message_id }: MessageOfPath,
  signal: AbortSignal,
): Promise<z.output<typeof messageResponse>> {
  const asked = { kind: 'message', session: session_id, message: toNumber(message_id) } as const
  const { message } = await read(services, asked, signal)
  return { session_id, message: cleanMessage(services.outbox.withhold, message) }
}

/** -1, which nothing has, for a text that is no number of the gateway. */
function toNumber(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : -1
}

/** The content of a file of a message, with its type by the content. Rejects `sessions/not-found` and `http/not-found`. */
export async function openAttachment(
  services: ApiServices,
  { session_id, message_id, number }: MessageOfPath & { readonly number: string },
  signal: AbortSignal,
): Promise<Response> {
  const file = { session: session_id, message: toNumber(message_id), index: toNumber(number) }
  const { stored } = await read(services, { kind: 'file', ...file }, signal)
  const { media, pictures } = services.home
  const path = stored !== null && 'picture' in stored ? join(pictures, stored.picture) : stored?.path
  const opened = path === undefined ? undefined : await openStoredFile(relative(media, path), media)
  if (opened === undefined) throw new HermesError('http/not-found', 'The gateway keeps no copy of this file.')
  const { content, mimeType, bytes } = opened
  return new Response(ReadableStream.from(content), {
    headers: {
      'content-type': mimeType,
      'content-length': String(bytes),
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
    },
  })
}

const messagePosition = z.tuple([z.enum(['older', 'newer']), z.number(), z.number()])

/** A cursor says in which direction it goes; the order of the entries stays that of the request. */
export async function listMessages(
  services: ApiServices,
  session: string,
  { limit, cursor, order, roles, all }: z.output<typeof messagesQuery>,
  signal: AbortSignal,
): Promise<ApiMessages> {
  const list = ['messages', session, order, roles, all]
  const forward = order === 'newest' ? 'older' : 'newer'
  const backward = order === 'newest' ? 'newer' : 'older'
  const position = decodeCursor(list, cursor, messagePosition)
  const [direction, ord, id] = position ?? [forward]
  const from = ord === undefined || id === undefined ? undefined : { ord, id }
  const filter = { roles, all }
  const result = await read(services, { kind: 'messages', session, filter, from, direction, limit }, signal)
  const page = direction === forward ? result.messages : result.messages.toReversed()
  // An empty page stays where it is.
  const first = page.at(0)?.position ?? from ?? (order === 'newest' ? { ord: -1, id: 0 } : undefined)
  const last = page.at(-1)?.position ?? from
  const cursorOf = (to: 'older' | 'newer', at: { ord: number; id: number } | undefined) =>
    at === undefined ? null : encodeCursor(list, [to, at.ord, at.id])
  const hasNext = direction === forward ? result.hasMore : true
  const hasPrevious = order === 'newest' || (direction === forward ? from !== undefined : result.hasMore)
  return {
    session_id: session,
    messages: page.map(({ entry }) => cleanMessage(services.outbox.withhold, entry)),
    next_cursor: hasNext ? cursorOf(forward, last) : null,
    previous_cursor: hasPrevious ? cursorOf(backward, first) : null,
  }
}
