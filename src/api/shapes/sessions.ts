/**
 * The shapes of sessions and of their messages.
 */
import { z } from 'zod'
import { chat, cursor, flag, limit, nextCursor, time } from './pages.ts'

export const sessionShape = z.object({
  id: z.string(),
  session_key: z.string().describe('The conversation: it has one current session and any number of earlier ones.'),
  ...chat,
  directory: z.string().nullable().describe('The folder of the conversation, in place of `terminal.cwd`.'),
  user_id: z.string().nullable(),
  title: z.string().describe('Empty for a session without a title.'),
  about: z.string().describe('The title, or else the beginning of the first message.'),
  is_current: z.boolean().describe('Whether the next message of the conversation goes into this session.'),
  pinned: z.boolean().describe('Whether it stays at the top of lists.'),
  created_at: time,
  updated_at: time,
  ended_at: time.nullable(),
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
  pinned: flag.optional().describe('`true`: only pinned sessions; `false`: only the others.'),
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

export const usageResponse = z.object({
  session_id: z.string(),
  model: z.string(),
  provider: z.string(),
  context_tokens: z.int().nullable().describe('Of the latest request and its response; null before the first one.'),
  context_length: z.int().describe('The window of the model that answers, in tokens.'),
  cached_tokens: z.int().describe('What the provider read of the latest request from its cache.'),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost: z.number().describe('US dollars, of the tokens whose price is known.'),
  unpriced_tokens: z.int(),
})

export const sessionResponse = z.object({ session: sessionShape })
export const messageResponse = z.object({ session_id: z.string(), message: messageShape })
export const changeBody = z
  .strictObject({
    title: z.string().max(10_000).optional().describe('Empty: no title.'),
    pinned: z.boolean().optional().describe('Whether it stays at the top of lists.'),
  })
  .refine(({ title, pinned }) => title !== undefined || pinned !== undefined, 'expected title or pinned')
const turnId = z.string().min(1).max(200)
export const forkBody = z
  .strictObject({
    title: z.string().max(10_000).optional(),
    into: z
      .strictObject({
        platform: z.string().min(1).max(200),
        chat_id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'expected 1 to 64 of A-Z a-z 0-9 _ -'),
      })
      .optional()
      .describe('A direct chat of the owner, which goes on with the copy. Without it the copy is an earlier session.'),
    through: turnId.optional().describe('The id of a turn: the copy ends with it.'),
    before: turnId.optional().describe('The id of a turn: the copy ends before it.'),
  })
  .refine(({ through, before }) => through === undefined || before === undefined, 'expected through or before')
  .prefault({})
export const deletedResponse = z.object({ ok: z.literal(true), id: z.string() })
