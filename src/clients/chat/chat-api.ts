/**
 * What `hermes chat` reads from the JSON API: the conversation that `hermes chat` continues: the last one of the terminal (`-c`), or one by its id, title or name (`-r`,
 * `-c <name>`), as in Hermes; and the slash commands.
 */
import { type ApiAccess, callRoute } from '../../api/client.ts'
import { listCommands } from '../../api/routes/messages.ts'
import { listMessages, listSessions, showSession } from '../../api/routes/sessions.ts'
import type { ApiSession, ApiSessions } from '../../api/shapes/sessions.ts'
import { HermesError, isHermesError } from '../../lib/errors.ts'
import { shorten, toSingleLine } from '../../lib/visible-text.ts'
import type { ChatClient } from './chat-client.ts'
import type { KnownCommand } from './chat-completion.ts'

export interface ConversationOptions {
  /** `true`: the last one. */
  readonly continue?: string | true
  readonly resume?: string
}

export interface FoundConversation {
  readonly session: string
  /** Its chat, if its next message goes into this session; undefined: the session must be opened in another chat. */
  readonly chat: string | undefined
  /** Its title, or else the beginning of its first message. */
  readonly about: string
  readonly messages: number
}

const platform = 'cli'
const pageSize = 200
/** Limits the conversations that are searched for a title. */
const maxPages = 25

/** Throws `cli/not-found`, `cli/usage` for a conversation of another platform, `cli/no-daemon`, or the gateway's error. */
export async function findConversation(
  access: ApiAccess,
  { continue: continued, resume }: ConversationOptions,
  signal: AbortSignal,
): Promise<FoundConversation> {
  const wanted = resume ?? (typeof continued === 'string' ? continued : undefined)
  const session = wanted === undefined ? await findLast(access, signal) : await findNamed(access, wanted, signal)
  if (session === undefined) throw notFound(wanted)
  if (session.platform !== platform) {
    throw new HermesError('cli/usage', `The session ${session.id} belongs to ${toSingleLine(session.platform)}.`, {
      hint: `Write there. \`hermes sessions show ${session.id}\` shows it.`,
    })
  }
  const { id, chat_id: chat, about, is_current: isCurrent, message_count: messages } = session
  return { session: id, chat: isCurrent && chat !== null ? chat : undefined, about, messages }
}

function notFound(wanted: string | undefined): HermesError {
  if (wanted === undefined)
    return new HermesError('cli/not-found', 'There is no conversation of the terminal yet.', {
      hint: '`hermes chat` begins one.',
    })
  const shown = JSON.stringify(toSingleLine(wanted))
  return new HermesError('cli/not-found', `No conversation of the terminal has the id, title or name ${shown}.`, {
    hint: '`hermes sessions list` shows the conversations. `/title <name>` names one.',
  })
}

async function findLast(access: ApiAccess, signal: AbortSignal): Promise<ApiSession | undefined> {
  for await (const session of eachSession(access, { current: 'true' }, signal)) return session
  return undefined
}

async function findNamed(access: ApiAccess, wanted: string, signal: AbortSignal): Promise<ApiSession | undefined> {
  const byId = await getSession(access, wanted, signal)
  if (byId !== undefined) return byId
  const title = wanted.trim().toLowerCase()
  for await (const session of eachSession(access, {}, signal)) {
    // A compressed conversation goes on as `title #2`.
    if (session.title.toLowerCase().replace(/ #\d+$/, '') === title) return session
  }
  for await (const session of eachSession(access, { current: 'true', chat: wanted }, signal)) return session
  return undefined
}

/** The session that was used last comes first. */
async function* eachSession(
  access: ApiAccess,
  filter: { readonly current?: 'true'; readonly chat?: string },
  signal: AbortSignal,
): AsyncGenerator<ApiSession> {
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page += 1) {
    const query = { platform, limit: pageSize, ...filter, cursor }
    const answer: ApiSessions = await callRoute(access, listSessions, { query, signal })
    yield* answer.sessions
    if (answer.next_cursor === null) return
    cursor = answer.next_cursor
  }
}

async function getSession(access: ApiAccess, id: string, signal: AbortSignal): Promise<ApiSession | undefined> {
  if (!/^[\w.-]{1,128}$/.test(id)) return undefined
  try {
    return (await callRoute(access, showSession, { params: { session_id: id }, signal })).session
  } catch (error) {
    if (isHermesError(error, 'sessions/not-found')) return undefined
    throw error
  }
}

/** Makes a session that has ended the current one of the chat. Throws `cli/failed`, and as `findConversation`. */
export async function openSession(
  access: ApiAccess,
  client: ChatClient,
  session: string,
  signal: AbortSignal,
): Promise<void> {
  const seq = await client.send(`/resume ${session}`, signal)
  const { text } = await client.waitForResult(seq, signal)
  const opened = await getSession(access, session, signal)
  if (opened?.is_current === true && opened.chat_id === client.chat) return
  throw new HermesError('cli/failed', `The session ${session} cannot be continued: ${toSingleLine(text)}`)
}

const maxShownChars = 300

/** What was said last, one line each, the oldest first. Throws as `findConversation`. */
export async function readLastMessages(access: ApiAccess, session: string, signal: AbortSignal): Promise<string[]> {
  const input = { params: { session_id: session }, query: { roles: 'user,assistant', limit: 10 }, signal }
  const { messages } = await callRoute(access, listMessages, input)
  const last = (role: string, sign: string) => {
    const text = toSingleLine(
      messages.find((message) => message.role === role && message.text.trim() !== '')?.text ?? '',
    )
    return text === '' ? [] : [`${sign} ${shorten(text, maxShownChars)}`]
  }
  return [...last('user', '›'), ...last('assistant', ' ')]
}

/** The slash commands of the gateway. Throws as `findConversation`. */
export async function fetchCommands(access: ApiAccess, signal: AbortSignal): Promise<readonly KnownCommand[]> {
  return await callRoute(access, listCommands, { signal })
}
