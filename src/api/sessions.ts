/**
 * `/api/sessions`: lists sessions, shows one and its messages, renames, copies and deletes one.
 */
import { z } from 'zod'
import { HermesError } from '../lib/errors.ts'
import { parseInput } from '../lib/parse-input.ts'
import type { OpenedFile } from '../platforms/adapter.ts'
import { indexNewMessages } from '../store/search-index.ts'
import type { ReaderThread } from '../store/sqlite/reader-thread.ts'
import type { Store } from '../store/store.ts'
import { type ChangeSessionsDeps, deleteSession, forkSession, setTitle } from './change-sessions.ts'
import { cleanMessage, cleanSession, cleanTrajectory } from './clean-texts.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { type ReadAnswer, readAnswer, type StoredFile } from './read-answer.ts'
import type { ReadRequest } from './read-sessions.ts'
import type { ApiRequest } from './request.ts'
import {
  type ApiMessage,
  type ApiMessages,
  type ApiSession,
  type ApiSessions,
  forkBody,
  messagesQuery,
  renameBody,
  sessionsQuery,
} from './shapes.ts'

export interface SessionsApiDeps extends ChangeSessionsDeps {
  readonly store: Store
  /** The path of the database of the store. */
  readonly database: string
  /** Opens a file that a person has sent. Undefined when it is not kept any more. */
  openFile(file: StoredFile): Promise<OpenedFile | undefined>
  /** Replaces the secrets of the gateway in a text. */
  withhold(text: string): string
  /** Runs `read-sessions-thread.ts`. */
  readonly reader: ReaderThread
}

type Query = ApiRequest['query']

export async function answerSessions(deps: SessionsApiDeps, request: ApiRequest): Promise<unknown> {
  const { method, path, query, body, signal } = request
  const [id, part, message, ...more] = path
  if (id === undefined) return await listSessions(deps, query, signal)
  if (part === 'messages' && message !== undefined && more[0] === 'attachments' && more.length === 2)
    return await openAttachment(deps, { session: id, message, index: more[1] ?? '' }, signal)
  if (more.length > 0) throw notFound(path)
  if (part === undefined) {
    if (method === 'GET') return { session: await readSession(deps, id, signal) }
    if (method === 'PATCH') {
      await setTitle(deps, id, (await body(renameBody)).title)
      return { session: await readSession(deps, id, signal) }
    }
    if (method === 'DELETE') {
      await deleteSession(deps, id)
      return { ok: true, id }
    }
  }
  if (part === 'messages' && method === 'GET')
    return message === undefined
      ? await listMessages(deps, id, query, signal)
      : { session_id: id, message: await readMessage(deps, id, message, signal) }
  if (part === 'trajectory' && method === 'GET' && message === undefined)
    return cleanTrajectory(deps.withhold, (await read(deps, { kind: 'trajectory', session: id }, signal)).trajectory)
  if (part === 'fork' && method === 'POST' && message === undefined) {
    const { title } = await body(forkBody)
    return { session: await readSession(deps, await forkSession(deps, id, title), signal) }
  }
  throw notFound(path)
}

function notFound(path: readonly string[]): HermesError {
  const shown = path.map((segment) => encodeURIComponent(segment)).join('/')
  return new HermesError('http/not-found', `/api/sessions/${shown}`.slice(0, 300))
}

/** Rejects `sessions/not-found`. */
async function read<Kind extends ReadRequest['kind']>(
  { reader, database }: SessionsApiDeps,
  request: ReadRequest & { readonly kind: Kind },
  signal: AbortSignal,
): Promise<AnswerTo<Kind>> {
  const asked: ReadRequest = request
  const answer = readAnswer.parse(await reader.ask({ database, request }, signal))
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

async function listSessions(deps: SessionsApiDeps, given: Query, signal: AbortSignal): Promise<ApiSessions> {
  const { limit, cursor, ...filter } = parseInput(sessionsQuery, given)
  const { platform, chat, search, current, session_key, directory } = filter
  const list = ['sessions', platform, chat, search, current, session_key, directory]
  const position = decodeCursor(list, cursor, sessionPosition)
  if (filter.search !== undefined) await indexNewMessages(deps.store)
  const before = position === undefined ? undefined : { at: position[0], id: position[1] }
  const { sessions, hasMore } = await read(deps, { kind: 'sessions', filter, before, limit }, signal)
  const last = hasMore ? sessions.at(-1)?.position : undefined
  return {
    sessions: sessions.map(({ entry }) => cleanSession(deps.withhold, entry)),
    next_cursor: last === undefined ? null : encodeCursor(list, [last.at, last.id]),
  }
}

async function readSession(deps: SessionsApiDeps, session: string, signal: AbortSignal): Promise<ApiSession> {
  return cleanSession(deps.withhold, (await read(deps, { kind: 'session', session }, signal)).session)
}

async function readMessage(
  deps: SessionsApiDeps,
  session: string,
  message: string,
  signal: AbortSignal,
): Promise<ApiMessage> {
  const id = /^\d{1,15}$/.test(message) ? Number(message) : -1
  return cleanMessage(deps.withhold, (await read(deps, { kind: 'message', session, message: id }, signal)).message)
}

/** The content of a file of a message, with its type by the content. Rejects `sessions/not-found` and `http/not-found`. */
async function openAttachment(
  deps: SessionsApiDeps,
  { session, message, index }: { readonly session: string; readonly message: string; readonly index: string },
  signal: AbortSignal,
): Promise<Response> {
  const numbers = [message, index].map((text) => (/^\d{1,15}$/.test(text) ? Number(text) : -1))
  const [id = -1, place = -1] = numbers
  const { stored } = await read(deps, { kind: 'file', session, message: id, index: place }, signal)
  const found = stored === null ? undefined : await deps.openFile(stored)
  if (found === undefined) throw new HermesError('http/not-found', 'The gateway keeps no copy of this file.')
  const { content, mimeType, bytes } = found
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
async function listMessages(
  deps: SessionsApiDeps,
  session: string,
  given: Query,
  signal: AbortSignal,
): Promise<ApiMessages> {
  const { limit, cursor, order, roles, all } = parseInput(messagesQuery, given)
  const list = ['messages', session, order, roles, all]
  const forward = order === 'newest' ? 'older' : 'newer'
  const backward = order === 'newest' ? 'newer' : 'older'
  const position = decodeCursor(list, cursor, messagePosition)
  const [direction, ord, id] = position ?? [forward]
  const from = ord === undefined || id === undefined ? undefined : { ord, id }
  const filter = { roles, all }
  const found = await read(deps, { kind: 'messages', session, filter, from, direction, limit }, signal)
  const page = direction === forward ? found.messages : found.messages.toReversed()
  // An empty page stays where it is.
  const first = page.at(0)?.position ?? from ?? (order === 'newest' ? { ord: -1, id: 0 } : undefined)
  const last = page.at(-1)?.position ?? from
  const cursorOf = (to: 'older' | 'newer', at: { ord: number; id: number } | undefined) =>
    at === undefined ? null : encodeCursor(list, [to, at.ord, at.id])
  const hasNext = direction === forward ? found.hasMore : true
  const hasPrevious = order === 'newest' || (direction === forward ? from !== undefined : found.hasMore)
  return {
    session_id: session,
    messages: page.map(({ entry }) => cleanMessage(deps.withhold, entry)),
    next_cursor: hasNext ? cursorOf(forward, last) : null,
    previous_cursor: hasPrevious ? cursorOf(backward, first) : null,
  }
}
