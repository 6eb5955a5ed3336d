/**
 * What `hermes chat` reads from the JSON API: the conversation that `hermes chat` continues: the last one of the terminal (`-c`), or one by its id, title or name (`-r`,
 * `-c <name>`), as in Hermes; and the slash commands.
 */
import { z } from 'zod'
import { type ApiAccess, callApi } from '../../api/client.ts'
import { toSingleLine } from '../../cli/kit/display.ts'
import { HermesError, isHermesError } from '../../lib/errors.ts'
import { shorten } from '../../lib/shorten.ts'
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

const sessionSchema = z.object({
  id: z.string(),
  platform: z.string(),
  chat_id: z.string().nullable(),
  title: z.string(),
  about: z.string(),
  is_current: z.boolean(),
  message_count: z.number(),
})
type Session = z.output<typeof sessionSchema>
const pageSchema = z.object({ sessions: z.array(sessionSchema), next_cursor: z.string().nullable() })
const oneSchema = z.object({ session: sessionSchema })
const messagesSchema = z.object({ messages: z.array(z.object({ role: z.string(), text: z.string() })) })

/** Throws `cli/not-found`, `cli/usage` for a conversation of another platform, `cli/no-daemon`, or the gateway's error. */
export async function findConversation(
  access: ApiAccess,
  { continue: continued, resume }: ConversationOptions,
  signal: AbortSignal,
): Promise<FoundConversation> {
  const wanted = resume ?? (typeof continued === 'string' ? continued : undefined)
  const found = wanted === undefined ? await findLast(access, signal) : await findNamed(access, wanted, signal)
  if (found === undefined) throw notFound(wanted)
  if (found.platform !== platform) {
    throw new HermesError('cli/usage', `The session ${found.id} belongs to ${toSingleLine(found.platform)}.`, {
      hint: `Write there. \`hermes sessions show ${found.id}\` shows it.`,
    })
  }
  const { id, chat_id: chat, about, is_current: isCurrent, message_count: messages } = found
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

async function findLast(access: ApiAccess, signal: AbortSignal): Promise<Session | undefined> {
  for await (const session of listSessions(access, { current: 'true' }, signal)) return session
  return undefined
}

async function findNamed(access: ApiAccess, wanted: string, signal: AbortSignal): Promise<Session | undefined> {
  const byId = await getSession(access, wanted, signal)
  if (byId !== undefined) return byId
  const title = wanted.trim().toLowerCase()
  for await (const session of listSessions(access, {}, signal)) {
    // A compressed conversation goes on as `title #2`.
    if (session.title.toLowerCase().replace(/ #\d+$/, '') === title) return session
  }
  for await (const session of listSessions(access, { current: 'true', chat: wanted }, signal)) return session
  return undefined
}

/** The session that was used last comes first. */
async function* listSessions(
  access: ApiAccess,
  filter: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<Session> {
  let cursor: string | null = null
  for (let page = 0; page < maxPages; page += 1) {
    const asked: Record<string, string> = cursor === null ? {} : { cursor }
    const query = new URLSearchParams({ platform, limit: String(pageSize), ...filter, ...asked })
    const path = `/api/sessions?${query}`
    const { sessions, next_cursor: next }: z.output<typeof pageSchema> = await callApi(access, path, pageSchema, {
      signal,
    })
    yield* sessions
    if (next === null) return
    cursor = next
  }
}

async function getSession(access: ApiAccess, id: string, signal: AbortSignal): Promise<Session | undefined> {
  if (!/^[\w.-]{1,128}$/.test(id)) return undefined
  try {
    return (await callApi(access, `/api/sessions/${encodeURIComponent(id)}`, oneSchema, { signal })).session
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
  const query = new URLSearchParams({ roles: 'user,assistant', limit: '10' })
  const path = `/api/sessions/${encodeURIComponent(session)}/messages?${query}`
  const { messages } = await callApi(access, path, messagesSchema, { signal })
  const last = (role: string, sign: string) => {
    const text = toSingleLine(
      messages.find((message) => message.role === role && message.text.trim() !== '')?.text ?? '',
    )
    return text === '' ? [] : [`${sign} ${shorten(text, maxShownChars)}`]
  }
  return [...last('user', '›'), ...last('assistant', ' ')]
}

const commandsSchema = z.array(z.object({ name: z.string(), argsHint: z.string().optional() }))

/** The slash commands of the gateway. Throws as `findConversation`. */
export async function fetchCommands(access: ApiAccess, signal: AbortSignal): Promise<readonly KnownCommand[]> {
  return await callApi(access, '/api/commands', commandsSchema, { signal })
}
