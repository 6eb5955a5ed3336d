/**
 * Reads the conversations in the `state.db` of Hermes Agent (contract hermes.md §4; the tables `sessions` and `messages` of all its
 * schema versions). Columns that a version does not have count as empty.
 */
import { join } from 'node:path'
import { messageOf } from '../../../lib/errors.ts'
import { asArray, asNumber, asRecord, asString, isRecord, parseJson } from '../../../lib/json.ts'
import { type ChatType, commandLinePlatform, type SessionSource } from '../../../message/source.ts'
import type { ChatMessage, ToolCall } from '../../../message/transcript.ts'
import type { ImportedMessage, ImportedSession } from '../../../sessions/imported-sessions.ts'
import { sessionKeyOf } from '../../../sessions/session-key.ts'
import { type ForeignDatabase, openForeignDatabase } from '../../../store/sqlite/foreign-database.ts'
import type { ConversationReader, ImportEntry } from '../contract.ts'
import { failed, type SourceHome } from '../source-home.ts'

export interface ConversationOptions {
  /** A directory for a copy of the database. */
  readonly scratch: string
  /** The name of this profile in session keys. */
  readonly profile: string
  readonly clock: () => number
}

type Row = Readonly<Record<string, unknown>>

/** Runs of sub-agents and of tools are no conversations with people. */
const innerSources = new Set(['tool', 'subagent', 'batch', 'delegate'])
/** A longer text was never read by a model as a whole. */
const maxTextChars = 2_000_000

/** Undefined when there is no database; an entry when it cannot be read. */
export function readHermesConversations(
  source: SourceHome,
  { scratch, profile, clock }: ConversationOptions,
): ConversationReader | ImportEntry | undefined {
  const kind = source.kindOf('state.db')
  if (kind === 'missing') return undefined
  const changes = ['state.db-wal', 'state.db-journal'].map(source.kindOf)
  if (kind !== 'file' || changes.some((each) => each !== 'file' && each !== 'missing'))
    return failed('conversations', 'state.db', 'it is not a file of the home')
  let db: ForeignDatabase | undefined
  try {
    db = openForeignDatabase(source.pathOf('state.db'), join(scratch, 'database'))
    const sessions = db.columns('sessions')
    const messages = db.columns('messages')
    if (!sessions.has('id') || !sessions.has('source') || !messages.has('session_id') || !messages.has('role')) {
      db.close()
      return failed('conversations', 'state.db', 'it has no conversations of Hermes')
    }
    const routes = readRoutes(source, db)
    const convert: Convert = (row, rows) => toSession(row, rows, { profile, now: clock(), routes })
    return createReader(db, sessions, messages, convert)
  } catch (error) {
    db?.close()
    return failed('conversations', 'state.db', messageOf(error))
  }
}

/** Undefined for a session without messages. */
type Convert = (row: Row, rows: readonly Row[]) => ImportedSession | undefined

/** Which chat a session belongs to, as the gateway of Hermes remembers it. */
interface Route {
  readonly key: string
  readonly origin: Row
}

/** @param sessions the columns of the table, as `messages` */
function createReader(
  db: ForeignDatabase,
  sessions: ReadonlySet<string>,
  messages: ReadonlySet<string>,
  convert: Convert,
): ConversationReader {
  // In the copy. Without an index, each conversation would be looked for in all messages.
  db.rows('create index import_order on messages (session_id, id)')
  const rows = db.rows(`select ${select(sessions, sessionColumns)} from sessions order by started_at, id`)
  const read = `select ${select(messages, messageColumns)} from messages where session_id = ? order by id`
  return {
    count: rows.length,
    *all(isKnown) {
      for (const row of rows) {
        const id = asString(row['id'])
        if (isInner(row)) continue
        if (isKnown(id)) {
          yield { area: 'conversations', name: id, result: 'same', reason: '' }
          continue
        }
        try {
          const session = convert(row, db.rows(read, id))
          if (session !== undefined) yield session
        } catch (error) {
          yield failed('conversations', id, messageOf(error))
        }
      }
    },
    close: () => db.close(),
  }
}

/** A sub-agent that works for a chat has the source and the chat of its agent, and a mark. */
function isInner(row: Row): boolean {
  const settings = asRecord(parseJson(asString(row['model_config'])))
  return innerSources.has(asString(row['source'])) || asString(settings['_delegate_from']) !== ''
}

const sessionColumns = [
  ...['id', 'source', 'user_id', 'session_key', 'chat_id', 'chat_type', 'thread_id', 'origin_json', 'title'],
  ...['parent_session_id', 'started_at', 'ended_at', 'end_reason', 'input_tokens', 'output_tokens', 'model_config'],
]
const messageColumns = [
  ...['role', 'content', 'tool_call_id', 'tool_calls', 'tool_name', 'timestamp'],
  ...['active', 'compacted', '_compressed_summary', 'display_kind'],
]

function select(columns: ReadonlySet<string>, wanted: readonly string[]): string {
  return wanted.map((name) => (columns.has(name) ? `"${name}"` : `null as "${name}"`)).join(', ')
}

function toSession(
  row: Row,
  rows: readonly Row[],
  {
    profile,
    now,
    routes,
  }: { readonly profile: string; readonly now: number; readonly routes: ReadonlyMap<string, Route> },
): ImportedSession | undefined {
  const startedAt = toMs(row['started_at'], now)
  const messages = rows.flatMap((line) => toMessage(line, startedAt))
  if (messages.length === 0) return undefined
  const id = asString(row['id'])
  if (id === '' || id.length > 200) throw new Error('its id cannot be used')
  const source = toSource(row, routes.get(id)?.origin ?? {}, profile)
  const storedKey = asString(row['session_key']) || (routes.get(id)?.key ?? '')
  const rules = { groupSessionsPerUser: true, threadSessionsPerUser: false, scoped: false }
  const sessionKey =
    withProfile(storedKey, profile) ?? (source === undefined ? `import:hermes:${id}` : sessionKeyOf(source, rules))
  const isOpen = row['ended_at'] === null && asString(row['end_reason']) === ''
  const endedAt = toMs(row['ended_at'], messages.at(-1)?.at ?? startedAt)
  return {
    id,
    sessionKey,
    platform: asString(row['source']).slice(0, 64) || 'unknown',
    userId: asString(row['user_id']),
    title: asString(row['title']).slice(0, 500).toWellFormed(),
    parentId: asString(row['parent_session_id']) || null,
    startedAt,
    endedAt,
    endReason: asString(row['end_reason']).slice(0, 64) || 'imported',
    inputTokens: Math.max(0, Math.trunc(asNumber(row['input_tokens']))),
    outputTokens: Math.max(0, Math.trunc(asNumber(row['output_tokens']))),
    messages,
    currentSource: isOpen && source !== undefined ? JSON.stringify(source) : '',
  }
}

/** Hermes stores seconds. A time that makes no sense counts as none. */
function toMs(value: unknown, fallback: number): number {
  const seconds = typeof value === 'number' ? value : Number.NaN
  return seconds > 0 && seconds < 1e11 ? Math.round(seconds * 1_000) : fallback
}

/** `agent:main` or `agent:<profile>` is the other home; the conversation goes on in this one. */
function withProfile(key: string, profile: string): string | undefined {
  const route = /^agent:[^:]+:(?<rest>[a-z0-9_]+:.+)$/.exec(key)?.groups?.['rest']
  if (route === undefined) return undefined
  const namespace = profile === '' || profile === 'default' ? 'main' : profile === 'main' ? 'main~' : profile
  return `agent:${namespace}:${route}`
}

const chatTypes: readonly string[] = ['dm', 'group', 'channel', 'thread', 'forum'] satisfies ChatType[]

function isChatType(text: string): text is ChatType {
  return chatTypes.includes(text)
}

/** Undefined where it is not known in which chat the session was. */
function toSource(row: Row, route: Row, profile: string): SessionSource | undefined {
  const stored = parseJson(asString(row['origin_json']))
  const origin = { ...(isRecord(stored) ? stored : {}), ...route }
  const text = (column: string, key = column) => asString(row[column]) || toText(origin[key])
  const platform = asString(row['source'])
  const userId = text('user_id')
  // The terminal belongs to the owner of the home.
  if (platform === commandLinePlatform)
    return { platform, account: 'default', chatId: asString(row['id']), chatType: 'dm', userId: 'owner', profile }
  const chatType = text('chat_type')
  const chatId = text('chat_id')
  if (chatId === '' || !isChatType(chatType) || !/^[a-z0-9_]+$/.test(platform)) return undefined
  const threadId = text('thread_id')
  const names = { chatName: toText(origin['chat_name']), userName: toText(origin['user_name']) }
  return {
    platform,
    account: 'default',
    chatId,
    chatType,
    ...(userId === '' ? {} : { userId }),
    ...(threadId === '' ? {} : { threadId }),
    ...(names.chatName === '' ? {} : { chatName: names.chatName }),
    ...(names.userName === '' ? {} : { userName: names.userName }),
    ...(profile === '' || profile === 'default' ? {} : { profile }),
  }
}

function toText(value: unknown): string {
  return typeof value === 'number' ? String(value) : asString(value)
}

function toMessage(line: Row, startedAt: number): ImportedMessage[] {
  const isActive = line['active'] !== 0
  const isReplaced = !isActive && line['compacted'] === 1
  // A person has taken it back, or it was never shown.
  if ((!isActive && !isReplaced) || line['display_kind'] === 'hidden') return []
  const message = toChatMessage(line)
  if (message === undefined) return []
  return [{ message, at: toMs(line['timestamp'], startedAt), isSummary: line['_compressed_summary'] === 1, isReplaced }]
}

/** Undefined for a system prompt: this gateway has its own. */
function toChatMessage(line: Row): ChatMessage | undefined {
  const content = toContent(line['content'])
  switch (line['role']) {
    case 'user':
      return { role: 'user', content }
    case 'assistant': {
      const toolCalls = toToolCalls(line['tool_calls'])
      return { role: 'assistant', content, ...(toolCalls.length === 0 ? {} : { toolCalls }) }
    }
    case 'tool':
      return {
        role: 'tool',
        content,
        toolCallId: asString(line['tool_call_id']),
        name: asString(line['tool_name']) || 'unknown',
      }
    default:
      return undefined
  }
}

/** Before content that is not only text. */
const contentPrefixes = ['\u0000json:', '\u0001json:']

/** Parts of other kinds than text, such as pictures, are marked. */
function toContent(stored: unknown): string {
  if (typeof stored !== 'string') return ''
  const prefix = contentPrefixes.find((text) => stored.startsWith(text))
  const parts = prefix === undefined ? undefined : parseJson(stored.slice(prefix.length))
  const text = Array.isArray(parts) ? asArray(parts).map(partText).join('\n') : stored
  return text.replaceAll('\0', '').slice(0, maxTextChars).toWellFormed()
}

function partText(part: unknown): string {
  if (typeof part === 'string') return part
  const record = asRecord(part)
  if (typeof record['text'] === 'string') return record['text']
  return `[${(asString(record['type']) || 'attachment').slice(0, 40)}]`
}

function toToolCalls(stored: unknown): ToolCall[] {
  const calls = typeof stored === 'string' ? parseJson(stored) : undefined
  return asArray(calls).flatMap((call) => {
    const { id, function: called, name, arguments: args } = asRecord(call)
    const inner = asRecord(called)
    const entry = { id: asString(id), name: asString(inner['name']) || asString(name) }
    const input = inner['arguments'] ?? args ?? ''
    if (entry.id === '' || entry.name === '') return []
    return [{ ...entry, arguments: typeof input === 'string' ? input : JSON.stringify(input) }]
  })
}

/** By session id: `gateway_routing` of newer versions, `sessions/sessions.json` of older ones. */
function readRoutes(source: SourceHome, db: ForeignDatabase): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>()
  const add = (key: string, entry: unknown) => {
    const { session_id: id, origin } = asRecord(entry)
    if (asString(id) !== '') routes.set(asString(id), { key, origin: asRecord(origin) })
  }
  const file = source.text('sessions/sessions.json')
  const stored = file !== undefined && 'text' in file ? parseJson(file.text) : undefined
  for (const [key, entry] of Object.entries(asRecord(stored))) add(key, entry)
  const hasTable = db.columns('gateway_routing').has('entry_json')
  const rows = hasTable ? db.rows('select session_key, entry_json from gateway_routing') : []
  for (const row of rows) add(asString(row['session_key']), parseJson(asString(row['entry_json'])))
  return routes
}
