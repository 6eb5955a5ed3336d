/**
 * The shapes of the JSON API: what requests may contain and what responses contain. They parse the input, type the output, and
 * are the source of the OpenAPI document. Loaded with the first request.
 *
 * Names are in snake case, ids are strings, times are in ISO 8601, and lists are the newest first unless the list says otherwise.
 */
import { z } from 'zod'

const maxPageSize = 200
const defaultPageSize = 50

const time = z.iso.datetime().describe('ISO 8601, UTC')
const nullableTime = time.nullable()

/** The limit in a query string, in which every value is a text. */
const limit = z.coerce
  .number()
  .pipe(z.int().min(1).max(maxPageSize))
  .default(defaultPageSize)
  .meta({ type: 'integer', minimum: 1, maximum: maxPageSize, description: 'How many entries a page has at most.' })
const cursor = z.string().min(1).max(1_000)
const flag = z.enum(['true', 'false']).transform((text) => text === 'true')

const nextCursor = cursor
  .nullable()
  .describe('For the next page: the same request with this as `cursor`. Null at the end.')

/** The chat of a conversation. The members are null where nothing is known any more. */
const chat = {
  platform: z.string(),
  account: z.string().nullable(),
  chat_id: z.string().nullable(),
  chat_type: z.string().nullable(),
  chat_name: z.string().nullable().describe('As people named it.'),
  thread_id: z.string().nullable(),
}

export const sessionShape = z.object({
  id: z.string(),
  session_key: z.string().describe('The conversation: it has one current session and any number of earlier ones.'),
  ...chat,
  directory: z.string().nullable().describe('The folder of the conversation, in place of `terminal.cwd`.'),
  user_id: z.string().nullable(),
  title: z.string().describe('Empty for a session without a title.'),
  about: z.string().describe('The title, or else the beginning of the first message.'),
  is_current: z.boolean().describe('Whether the next message of the conversation goes into this session.'),
  created_at: time,
  updated_at: time,
  ended_at: nullableTime,
  end_reason: z.string().nullable(),
  parent_id: z.string().nullable().describe('The session that this one continues or copies.'),
  message_count: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost: z.number().describe('US dollars, of the tokens whose price is known.'),
  match: z
    .object({ message_id: z.string(), role: z.string(), created_at: time, excerpt: z.string() })
    .optional()
    .describe('With `search`: the newest message that was found, the words between « and ».'),
})
export type ApiSession = z.output<typeof sessionShape>

export const sessionsQuery = z.strictObject({
  platform: z.string().min(1).max(200).optional(),
  chat: z.string().min(1).max(1_000).optional().describe('The id of a chat, as in `chat_id`.'),
  session_key: z.string().min(1).max(2_000).optional().describe('Only the sessions of this conversation.'),
  search: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      'Words that a message contains: `"…"` is a phrase, `OR` an alternative, `NOT` excludes the next word, `word*` is a beginning.',
    ),
  directory: z.string().min(1).max(4_096).optional().describe('Only conversations that work in this folder.'),
  current: flag.optional().describe('`true`: only sessions that go on; `false`: only earlier ones.'),
  limit,
  cursor: cursor.optional(),
})
export const sessionsPage = z.object({ sessions: z.array(sessionShape), next_cursor: nextCursor })
export type ApiSessions = z.output<typeof sessionsPage>

export const attachmentShape = z.object({
  kind: z.string(),
  file_name: z.string(),
  mime_type: z.string().nullable(),
  bytes: z.int().nullable(),
})

export const toolCallShape = z.object({
  id: z.string(),
  name: z.string(),
  arguments: z.string().describe('JSON as the model wrote it; the beginning, if it is long.'),
  state: z
    .enum(['running', 'done', 'failed', 'interrupted'])
    .nullable()
    .describe('Null where it is not stored any more.'),
  label: z.string().describe('One line about the call.'),
  summary: z.string().describe('One line about the result.'),
})

export const messageShape = z.object({
  id: z.string(),
  role: z.enum(['user', 'assistant', 'tool']),
  text: z.string().describe('The beginning, if `truncated`.'),
  truncated: z.boolean(),
  tool_calls: z.array(toolCallShape).describe('The calls of an assistant message.'),
  tool_call_id: z.string().nullable().describe('The call whose result the message is.'),
  tool_name: z.string().nullable(),
  attachments: z.array(attachmentShape),
  status: z
    .enum(['active', 'summarised', 'withdrawn', 'failed'])
    .describe('Whether the model still reads the message, or why it does not.'),
  is_summary: z.boolean().describe('It replaces the messages before it.'),
  turn_id: z.string().nullable(),
  created_at: time,
})
export type ApiMessage = z.output<typeof messageShape>

export const messagesQuery = z.strictObject({
  order: z.enum(['newest', 'oldest']).default('newest').describe('The end at which the first page begins.'),
  roles: z
    .string()
    .regex(/^(?:user|assistant|tool)(?:,(?:user|assistant|tool)){0,2}$/)
    .optional()
    .describe('Only these roles, with commas between them.'),
  all: flag
    .default(false)
    .describe('`true`: also what was taken back, what belongs to failed turns, and summaries with what they replace.'),
  limit,
  cursor: cursor.optional(),
})
export const messagesPage = z.object({
  session_id: z.string(),
  messages: z.array(messageShape),
  next_cursor: nextCursor,
  previous_cursor: cursor
    .nullable()
    .describe('For the page before this one; with the order `newest` that is what was added since.'),
})
export type ApiMessages = z.output<typeof messagesPage>

const toolCounts = z.object({ count: z.int(), success: z.int(), failure: z.int() })
export const trajectoryResponse = z.object({
  session_id: z.string(),
  conversations: z
    .array(z.object({ from: z.enum(['human', 'gpt', 'tool']), value: z.string() }))
    .describe('The whole conversation in the ShareGPT form of Hermes, without a system prompt.'),
  api_calls: z.int().describe('Responses of the model.'),
  tool_stats: z.record(z.string(), toolCounts).describe('By the name of the tool, only those that were called.'),
})
export type ApiTrajectory = z.output<typeof trajectoryResponse>

export const sessionResponse = z.object({ session: sessionShape })
export const messageResponse = z.object({ session_id: z.string(), message: messageShape })
export const renameBody = z.strictObject({ title: z.string().max(10_000).describe('Empty: no title.') })
export const forkBody = z.strictObject({ title: z.string().max(10_000).optional() })
/** The body of `/api/workspaces/<platform>/<chat>`. What is absent stays as it is. */
export const workspaceBody = z.strictObject({
  directory: z
    .string()
    .min(1)
    .max(4_096)
    .nullable()
    .optional()
    .describe('The folder, absolute, in place of `terminal.cwd`. Null removes the folder of the conversation.'),
  mode: z
    .enum(['default', 'yolo'])
    .optional()
    .describe('`yolo`: commands of the owner run without a question until the session ends, as with `/yolo`.'),
  edits: z
    .enum(['ask', 'workspace', 'everywhere'])
    .nullable()
    .optional()
    .describe(
      'Which changes of files its user is asked about: all; those outside of the folder and of `/tmp`; only those of sensitive files. Null: none. Needs a folder.',
    ),
  session_id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('An earlier session that the conversation goes on with, such as a copy.'),
  mcp_servers: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'MCP servers of this conversation alone, as in the configuration, until the gateway stops. `{}` ends them.',
    ),
})
export const workspaceResponse = z.object({
  directory: z.string().nullable(),
  mode: z.enum(['default', 'yolo']),
  edits: z.enum(['ask', 'workspace', 'everywhere']).nullable(),
  session_id: z.string().nullable().describe('Null while nothing was written.'),
  tokens: z
    .object({ used: z.int(), window: z.int() })
    .nullable()
    .describe('The tokens of the newest request and its response. Null before the first request.'),
})
export type ApiWorkspace = z.output<typeof workspaceResponse>
export const deletedResponse = z.object({ ok: z.literal(true), id: z.string() })

export const questionShape = z.object({
  id: z.string(),
  kind: z.enum(['approval', 'clarify']).describe('A tool call that needs an approval, or a question of the agent.'),
  session_key: z.string(),
  turn_id: z.string().nullable(),
  ...chat,
  user_id: z.string().nullable(),
  user_name: z.string().nullable(),
  text: z.string().describe('Markdown, as it is shown in the chat.'),
  command: z.string().nullable().describe('The command or the tool call that waits.'),
  description: z.string().nullable().describe('Why it needs an approval.'),
  choices: z.array(z.object({ answer: z.string(), label: z.string() })),
  accepts_text: z.boolean().describe('Whether the answer may be a text.'),
  expires_at: time,
})
export type ApiQuestion = z.output<typeof questionShape>

export const pendingQuery = z.strictObject({
  platform: z.string().min(1).max(200).optional(),
  chat: z.string().min(1).max(1_000).optional(),
  session_key: z.string().min(1).max(2_000).optional(),
})
/** The oldest first. */
export const pendingResponse = z.object({ questions: z.array(questionShape) })
export type ApiPending = z.output<typeof pendingResponse>

export const decideBody = z.strictObject({
  id: z.string().min(1).max(200),
  answer: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('The `answer` of a choice: `once`, `session`, `always` or `deny` for an approval.'),
  text: z
    .string()
    .max(4_000)
    .optional()
    .describe('The answer in words to a question of the agent; the reason of an answer to an approval.'),
})
export const decidedResponse = z.object({
  ok: z.literal(true),
  id: z.string(),
  answer: z.string(),
  says: z.string().describe('One line about the effect.'),
  changed: z.boolean().describe('False when the same answer was given before.'),
})
export type ApiDecided = z.output<typeof decidedResponse>

export const channelShape = z.object({
  target: z.string().describe('For `POST /api/send` and `hermes send`.'),
  platform: z.string(),
  account: z.string(),
  chat_id: z.string(),
  thread_id: z.string().nullable(),
  kind: z
    .enum(['home', 'known', 'channel'])
    .describe('The home channel, a chat with a conversation, or a channel that the platform lists.'),
  name: z.string().nullable(),
  connected: z.boolean(),
})
export const channelsQuery = z.strictObject({
  platform: z.string().min(1).max(200).optional(),
  limit,
  cursor: cursor.optional(),
})
/** In the order of the targets. */
export const channelsPage = z.object({ channels: z.array(channelShape), next_cursor: nextCursor })
export type ApiChannels = z.output<typeof channelsPage>
