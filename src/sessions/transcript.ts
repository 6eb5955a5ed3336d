/**
 * The transcript: append-only, with one ordinal per message. The system prompt is stored separately and frozen with the
 * session.
 */
import {
  addUsage,
  type ChatMessage,
  type ImagePart,
  noUsage,
  type ProviderData,
  type ToolCall,
  type Usage,
} from '../message/transcript.ts'
import { type Db, exec, pick, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { Database } from '../store/schema.ts'

/** Characters stored in the row itself. A longer text is stored in `texts`, and only its beginning is searchable. */
const inlineChars = 65_536

type NewMessageRow = Omit<Database['messages'], 'id' | 'superseded' | 'is_summary' | 'created_at'>

const insertMessage = query((db, p: NewMessageRow & { is_summary: number; now: number }) =>
  db.insertInto('messages').values({
    ...pick(p, 'session_id', 'turn_id', 'ord', 'role', 'content', 'text_id'),
    ...pick(p, 'tool_calls', 'tool_call_id', 'tool_name', 'provider_data', 'usage', 'is_summary'),
    created_at: p.now,
    images: p.images,
  }),
)

const insertText = query((db, p: { body: string }) => db.insertInto('texts').values({ body: p.body }).returning('id'))

export interface NewMessage {
  readonly sessionId: string
  readonly turnId: string | null
  readonly ord: number
  readonly message: ChatMessage
  readonly usage?: Usage
  /** The message replaces older ones. */
  readonly isSummary?: boolean
}

/** Stores a message at its ordinal. Throws when the ordinal is in use. */
export function* appendMessage(entry: NewMessage, now: number): Transaction<void> {
  const { sessionId, turnId, ord, message, usage, isSummary } = entry
  const { content, text_id } = yield* storeText(message.content)
  yield* exec(insertMessage, {
    session_id: sessionId,
    turn_id: turnId,
    ord,
    role: message.role,
    content,
    text_id,
    tool_calls: message.role === 'assistant' && message.toolCalls ? JSON.stringify(message.toolCalls) : null,
    tool_call_id: message.role === 'tool' ? message.toolCallId : null,
    tool_name: message.role === 'tool' ? message.name : null,
    provider_data: message.role === 'assistant' && message.providerData ? JSON.stringify(message.providerData) : null,
    usage: usage === undefined ? null : JSON.stringify(usage),
    images: message.role !== 'assistant' && message.images !== undefined ? JSON.stringify(message.images) : null,
    is_summary: isSummary === true ? 1 : 0,
    now,
  })
}

function* storeText(text: string): Transaction<{ content: string; text_id: number | null }> {
  if (text.length <= inlineChars) return { content: text, text_id: null }
  const stored = yield* row(insertText, { body: text })
  return { content: text.slice(0, inlineChars).toWellFormed(), text_id: stored?.id ?? null }
}

const selectMessages = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .leftJoin('texts', 'texts.id', 'messages.text_id')
    .select([
      'ord',
      'turn_id',
      'role',
      'content',
      'texts.body',
      'tool_calls',
      'tool_call_id',
      'tool_name',
      'provider_data',
      'is_summary',
      'images',
    ])
    .where('session_id', '=', p.session_id)
    .where('superseded', '=', 0)
    .orderBy('ord'),
)

export interface TranscriptEntry {
  readonly ord: number
  readonly turnId: string | null
  readonly message: ChatMessage
  /** The message replaces older ones, which no model receives any more. */
  readonly isSummary?: true
}

/** Index of the first message of a turn. */
export function turnStartIndex(id: string, entries: readonly TranscriptEntry[]): number {
  const index = entries.findIndex(({ turnId }) => turnId === id)
  return index === -1 ? entries.length : index
}

/** The conversation as the model receives it, in order. */
export function* readTranscript(sessionId: string): Transaction<TranscriptEntry[]> {
  const records = yield* rows(selectMessages, { session_id: sessionId })
  return records.map((line) => ({
    ord: line.ord,
    turnId: line.turn_id,
    message: toChatMessage(line),
    ...(line.is_summary === 0 ? {} : { isSummary: true as const }),
  }))
}

export interface MessageFilter {
  /** Results of this tool, and the responses that call it. */
  readonly toolName: string
  /** User messages that begin so. */
  readonly userStart: string
}

const selectMatching = query((db, p: { session_id: string; tool_name: string; call: string; start: string }) =>
  db
    .selectFrom('messages')
    .leftJoin('texts', 'texts.id', 'messages.text_id')
    .select(['role', 'content', 'texts.body', 'tool_calls', 'tool_call_id', 'tool_name', 'provider_data', 'images'])
    .where('session_id', '=', p.session_id)
    .where('superseded', '>=', 0)
    .where('is_summary', '=', 0)
    .where(({ or, and, eb }) =>
      or([
        eb('tool_name', '=', p.tool_name),
        and([eb('role', '=', 'assistant'), eb(sql<number>`instr(tool_calls, ${p.call})`, '>', 0)]),
        and([eb('role', '=', 'user'), eb(sql<number>`instr(content, ${p.start})`, '=', 1)]),
      ]),
    )
    .orderBy('ord'),
)

const selectContinued = query((db, p: { id: string }) =>
  db
    .selectFrom('sessions as child')
    .innerJoin('sessions as parent', 'parent.id', 'child.parent_id')
    .select('parent.id')
    .where('child.id', '=', p.id)
    .where('parent.end_reason', '=', 'compression'),
)

/** More sessions before this one are not read. */
const maxContinued = 100

/** Messages of a conversation, also those that summaries have replaced, and those of the sessions that it continues. */
export function* findMessages(sessionId: string, { toolName, userStart }: MessageFilter): Transaction<ChatMessage[]> {
  const call = JSON.stringify(toolName)
  const messages: ChatMessage[] = []
  let id: string | undefined = sessionId
  for (let count = 0; id !== undefined && count < maxContinued; count++) {
    const lines = yield* rows(selectMatching, { session_id: id, tool_name: toolName, call, start: userStart })
    messages.unshift(...lines.map(toChatMessage))
    const continued: { readonly id: string } | undefined = yield* row(selectContinued, { id })
    id = continued?.id
  }
  return messages
}

const selectLastOrdinal = query((db, p: { session_id: string }) =>
  db.selectFrom('messages').select('ord').where('session_id', '=', p.session_id).orderBy('ord', 'desc').limit(1),
)

/** The first unused ordinal, after superseded messages as well. */
export function* nextOrdinal(sessionId: string): Transaction<number> {
  return ((yield* row(selectLastOrdinal, { session_id: sessionId }))?.ord ?? -1) + 1
}

const markTurnSuperseded = query((db, p: { session_id: string; turn_id: string }) =>
  db
    .updateTable('messages')
    .set({ superseded: -1 })
    .where('session_id', '=', p.session_id)
    .where('turn_id', '=', p.turn_id)
    .where('superseded', '=', 0),
)

/** Removes the messages of a failed turn from the conversation, so that they cannot break the next turn. They stay on disk. */
export function* supersedeTurn(sessionId: string, turnId: string): Transaction<void> {
  yield* exec(markTurnSuperseded, { session_id: sessionId, turn_id: turnId })
}

interface MessageRow {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly body: string | null
  readonly tool_calls: string | null
  readonly tool_call_id: string | null
  readonly tool_name: string | null
  readonly provider_data: string | null
  readonly images: string | null
}

function toChatMessage(line: MessageRow): ChatMessage {
  const content = line.body ?? line.content
  switch (line.role) {
    case 'user':
      return { role: 'user', content, ...imagesOf(line) }
    case 'tool':
      return {
        role: 'tool',
        content,
        toolCallId: line.tool_call_id ?? '',
        name: line.tool_name ?? '',
        ...imagesOf(line),
      }
    case 'assistant':
      return {
        role: 'assistant',
        content,
        ...(line.tool_calls === null ? {} : { toolCalls: parseStoredJson<ToolCall[]>(line.tool_calls) }),
        ...(line.provider_data === null ? {} : { providerData: parseStoredJson<ProviderData>(line.provider_data) }),
      }
  }
}

function imagesOf({ images }: Pick<MessageRow, 'images'>): { readonly images?: readonly ImagePart[] } {
  return images === null ? {} : { images: parseStoredJson<ImagePart[]>(images) }
}

/** The pictures of several rows. */
export function storedImages(records: readonly Pick<MessageRow, 'images'>[]): readonly ImagePart[] {
  return records.flatMap((line) => imagesOf(line).images ?? [])
}

const selectImagesOfConversation = query((db, p: { turn: string }) =>
  db
    .selectFrom('messages')
    .select('images')
    .distinct()
    .where('images', 'is not', null)
    .where('session_id', 'in', (sessions) =>
      sessions
        .selectFrom('sessions')
        .select('sessions.id')
        .where('sessions.session_key', '=', (turns) =>
          turns.selectFrom('turns').select('turns.session_key').where('turns.id', '=', p.turn),
        ),
    ),
)

/** The pictures of the conversation to which the turn belongs, in all of its sessions. */
export function* findImagesOfConversation(turnId: string): Transaction<readonly ImagePart[]> {
  return storedImages(yield* rows(selectImagesOfConversation, { turn: turnId }))
}

/** Parses JSON that this file has written, so its shape is known. */
function parseStoredJson<T>(text: string): T {
  return JSON.parse(text)
}

type TurnPart = { session_id: string; turn_id: string; from: number }

const messagesOfTurn = (db: Db, p: TurnPart) =>
  db
    .selectFrom('messages')
    .where('session_id', '=', p.session_id)
    .where('ord', '>=', p.from)
    .where('turn_id', '=', p.turn_id)

const selectTurnUsage = query((db, p: TurnPart) => messagesOfTurn(db, p).select('usage').where('usage', 'is not', null))

/** The usage of the stored responses of a turn that starts at ordinal `from`. */
export function* usageOfTurn(sessionId: string, turnId: string, from: number): Transaction<Usage> {
  const records = yield* rows(selectTurnUsage, { session_id: sessionId, turn_id: turnId, from })
  return records
    .map(({ usage }) => (usage === null ? noUsage : parseStoredJson<Usage>(usage)))
    .reduce(addUsage, noUsage)
}

const selectResponses = query((db, p: TurnPart) =>
  messagesOfTurn(db, p).select('tool_calls').where('role', '=', 'assistant').where('is_summary', '=', 0),
)

/** What a turn has stored so far, also where a summary has replaced it. */
export interface StoredResponses {
  readonly count: number
  /** The ids of all their tool calls. */
  readonly callIds: readonly string[]
}

/** The responses of a turn that starts at ordinal `from`. */
export function* responsesOfTurn(sessionId: string, turnId: string, from: number): Transaction<StoredResponses> {
  const records = yield* rows(selectResponses, { session_id: sessionId, turn_id: turnId, from })
  const calls = records.flatMap(({ tool_calls }) =>
    tool_calls === null ? [] : parseStoredJson<ToolCall[]>(tool_calls),
  )
  return { count: records.length, callIds: calls.map(({ id }) => id) }
}

const selectPrompt = query((db, p: { session_id: string }) =>
  db.selectFrom('prompts').select(['text', 'tools']).where('session_id', '=', p.session_id),
)

/** What all requests of a session begin with. */
export interface FrozenPrompt {
  /** The system prompt. */
  readonly text: string
  /** The names of the tools that the session is offered. Undefined in a session of an earlier version. */
  readonly toolNames?: readonly string[]
}

/** Undefined before the first turn of the session. */
export function* readFrozenPrompt(sessionId: string): Transaction<FrozenPrompt | undefined> {
  const prompt = yield* row(selectPrompt, { session_id: sessionId })
  if (prompt === undefined) return undefined
  const { text, tools } = prompt
  return tools === null ? { text } : { text, toolNames: parseStoredJson<readonly string[]>(tools) }
}

const insertPrompt = query((db, p: { session_id: string; text: string; tools: string | null }) =>
  db
    .insertInto('prompts')
    .values({ session_id: p.session_id, text: p.text, tools: p.tools })
    .onConflict((conflict) => conflict.doNothing()),
)

const deletePrompt = query((db, p: { session_id: string }) =>
  db.deleteFrom('prompts').where('session_id', '=', p.session_id),
)

/** The next turn freezes another prompt. */
export function* dropFrozenPrompt(sessionId: string): Transaction<void> {
  yield* exec(deletePrompt, { session_id: sessionId })
}

/** Freezes the system prompt and the list of tools. What is frozen stays. */
export function* freezePrompt(sessionId: string, { text, toolNames }: FrozenPrompt): Transaction<void> {
  yield* exec(insertPrompt, {
    session_id: sessionId,
    text,
    tools: toolNames === undefined ? null : JSON.stringify(toolNames),
  })
}
