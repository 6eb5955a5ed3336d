/**
 * What the terminal interface reads from the JSON API: the stored conversations of the terminal, their messages, and the slash
 * commands. Unknown fields are ignored, because the daemon may be newer.
 */
import { z } from 'zod'
import { type ApiAccess, callApi } from '../../api/client.ts'
import type { Conversation, Entry } from './conversation.ts'

export interface StoredConversation {
  /** The session. */
  readonly id: string
  readonly chat: string
  /** Its title, or else the beginning of the first message. */
  readonly about: string
  readonly updatedAt: number
  readonly spent: Conversation['spent']
}

export interface GatewayCommand {
  readonly name: string
  readonly description: string
  readonly argsHint?: string | undefined
}

export interface GatewayApi {
  /** The newest first. `search`: words of a message. Throws `cli/no-daemon` or the gateway's error. */
  conversations(search: string, signal: AbortSignal): Promise<readonly StoredConversation[]>
  /** Undefined for a chat without a message. Throws as `conversations`. */
  find(chat: string, signal: AbortSignal): Promise<StoredConversation | undefined>
  /** The newest messages of a session, in their order. Throws as `conversations`. */
  messages(session: string, signal: AbortSignal): Promise<readonly Entry[]>
  /** Throws as `conversations`. */
  commands(signal: AbortSignal): Promise<readonly GatewayCommand[]>
}

const platform = 'cli'
const pageSize = 100
const maxMessages = 200

const sessionsSchema = z.object({
  sessions: z.array(
    z.object({
      id: z.string(),
      chat_id: z.string().nullable(),
      about: z.string(),
      updated_at: z.string(),
      input_tokens: z.number().default(0),
      output_tokens: z.number().default(0),
      cost: z.number().default(0),
    }),
  ),
})
const toolCallSchema = z.object({
  id: z.string(),
  name: z.string(),
  state: z.string().nullable(),
  label: z.string(),
  summary: z.string(),
})
const messagesSchema = z.object({
  messages: z.array(
    z.object({
      id: z.string(),
      role: z.string(),
      text: z.string(),
      truncated: z.boolean().default(false),
      tool_calls: z.array(toolCallSchema).default([]),
      attachments: z.array(z.object({ file_name: z.string() })).default([]),
    }),
  ),
})
const commandsSchema = z.array(z.object({ name: z.string(), description: z.string(), argsHint: z.string().optional() }))

export function createGatewayApi(access: ApiAccess): GatewayApi {
  return {
    conversations: (search, signal) => list(search.trim() === '' ? {} : { search: search.trim() }, signal),
    async find(chat, signal) {
      return (await list({ chat }, signal))[0]
    },
    async messages(session, signal) {
      const query = new URLSearchParams({ roles: 'user,assistant', limit: String(maxMessages) })
      const path = `/api/sessions/${encodeURIComponent(session)}/messages?${query}`
      const { messages } = await callApi(access, path, messagesSchema, { signal })
      return messages.toReversed().flatMap(toEntries)
    },
    commands: (signal) => callApi(access, '/api/commands', commandsSchema, { signal }),
  }

  async function list(filter: Readonly<Record<string, string>>, signal: AbortSignal): Promise<StoredConversation[]> {
    const query = new URLSearchParams({ platform, current: 'true', limit: String(pageSize), ...filter })
    const { sessions } = await callApi(access, `/api/sessions?${query}`, sessionsSchema, { signal })
    return sessions.flatMap(
      ({ id, chat_id: chat, about, updated_at: at, input_tokens: input, output_tokens: output, cost }) =>
        chat === null ? [] : [{ id, chat, about, updatedAt: Date.parse(at), spent: { input, output, cost } }],
    )
  }
}

type StoredMessage = z.output<typeof messagesSchema>['messages'][number]

function toEntries({ id, role, text, truncated, tool_calls: calls, attachments }: StoredMessage): Entry[] {
  const whole = truncated ? `${text}…` : text
  if (role === 'user') {
    const files = attachments.map(({ file_name: name }) => `[${name}]`)
    return [{ kind: 'person', text: [whole, ...files].filter((part) => part !== '').join('\n'), state: 'sent' }]
  }
  const answer: Entry[] = whole.trim() === '' ? [] : [{ kind: 'agent', id, text: whole, isDraft: false }]
  const tools = calls.map(
    ({ id: callId, name: tool, label, summary, state }): Entry => ({
      kind: 'tool',
      callId,
      tool,
      label,
      summary,
      state: state === 'failed' || state === 'interrupted' ? 'failed' : state === 'running' ? 'running' : 'done',
    }),
  )
  return [...answer, ...tools]
}
