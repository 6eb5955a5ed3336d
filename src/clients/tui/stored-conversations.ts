/**
 * The stored conversations of the terminal and their messages, as the JSON API has them.
 */
import { type ApiAccess, callRoute } from '../../api/client.ts'
import { listMessages, listSessions } from '../../api/routes/sessions.ts'
import type { ApiMessage } from '../../api/shapes/sessions.ts'
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

const pageSize = 100
const maxMessages = 200

/** The newest first. `search`: words of a message. Throws `cli/no-daemon` or the gateway's error. */
export async function findConversations(
  access: ApiAccess,
  filter: { readonly search?: string | undefined; readonly chat?: string | undefined },
  signal: AbortSignal,
): Promise<readonly StoredConversation[]> {
  const query = { platform: 'cli', current: 'true', limit: pageSize, ...filter } as const
  const { sessions } = await callRoute(access, listSessions, { query, signal })
  return sessions.flatMap(
    ({ id, chat_id: chat, about, updated_at: at, input_tokens: input, output_tokens: output, cost }) =>
      chat === null ? [] : [{ id, chat, about, updatedAt: Date.parse(at), spent: { input, output, cost } }],
  )
}

/** The newest messages of a session, in their order. Throws as `findConversations`. */
export async function readEntries(access: ApiAccess, session: string, signal: AbortSignal): Promise<readonly Entry[]> {
  const input = { params: { session_id: session }, query: { roles: 'user,assistant', limit: maxMessages }, signal }
  const { messages } = await callRoute(access, listMessages, input)
  return messages.toReversed().flatMap(toEntries)
}

function toEntries({ id, role, text, truncated, tool_calls: calls, attachments }: ApiMessage): Entry[] {
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
