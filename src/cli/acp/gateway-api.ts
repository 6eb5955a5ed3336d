/**
 * The HTTP API of the gateway, as far as an editor needs it.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import type { ToolView } from '../../message/tool-view.ts'
import { readErrorResponse, toUnreachableError } from '../api-errors.ts'

export interface GatewayApiOptions {
  /** `http://127.0.0.1:8642` */
  readonly baseUrl: string
  readonly token: string
  readonly fetch: typeof fetch
}

/** The conversation of a session. All methods reject with the errors of the gateway, and `cli/no-daemon`. */
export interface GatewayApi {
  workspace(chat: string, signal?: AbortSignal): Promise<Workspace>
  /** What is absent stays as it is. */
  changeWorkspace(chat: string, change: WorkspaceChange): Promise<Workspace>
  /** 50 conversations, the newest first. */
  listSessions(cursor: string | undefined): Promise<SessionPage>
  /** The stored session that a conversation has now. */
  currentSession(chat: string): Promise<StoredSession | undefined>
  /** All messages of a session, the oldest first. */
  messages(session: string): AsyncGenerator<StoredMessage>
  /** Copies a session; resolves with the id of the copy. */
  fork(session: string): Promise<string>
  deleteSession(session: string): Promise<void>
  commands(): Promise<z.output<typeof commandsSchema>>
  toolView(chat: string, turnId: string, callId: string): Promise<ToolView | undefined>
}

const workspaceSchema = z.object({
  directory: z.string().nullable(),
  mode: z.enum(['default', 'yolo']),
  session_id: z.string().nullable(),
  tokens: z.object({ used: z.number(), window: z.number() }).nullable().default(null),
})
export type Workspace = z.output<typeof workspaceSchema>

export interface WorkspaceChange {
  readonly directory?: string
  readonly mode?: Workspace['mode']
  readonly session_id?: string
  readonly mcp_servers?: Readonly<Record<string, unknown>>
}

const sessionSchema = z.object({
  id: z.string(),
  chat_id: z.string().nullable(),
  title: z.string(),
  about: z.string(),
  updated_at: z.string(),
})
export type StoredSession = z.output<typeof sessionSchema>
const sessionsSchema = z.object({ sessions: z.array(sessionSchema), next_cursor: z.string().nullable() })
export type SessionPage = z.output<typeof sessionsSchema>

const messagesSchema = z.object({
  messages: z.array(
    z.object({
      id: z.string(),
      role: z.enum(['user', 'assistant', 'tool']),
      text: z.string(),
      turn_id: z.string().nullable(),
      tool_calls: z.array(
        z.object({
          id: z.string(),
          name: z.string(),
          state: z.string().nullable(),
          label: z.string(),
          summary: z.string(),
        }),
      ),
    }),
  ),
  next_cursor: z.string().nullable(),
})
export type StoredMessage = z.output<typeof messagesSchema>['messages'][number]

const commandsSchema = z.array(z.object({ name: z.string(), description: z.string(), argsHint: z.string() }))
const forkedSchema = z.object({ session: z.object({ id: z.string() }) })
/** The daemon has written it; a newer one may have more kinds of parts, which are shown as nothing. */
const viewSchema = z.custom<ToolView>(
  (value) => typeof value === 'object' && value !== null && 'parts' in value && Array.isArray(value.parts),
)

const platform = 'acp'
/** Of one page (contract §5). */
const pageSize = 50
/** Messages of one request. */
const messagesPerRequest = 200
const timeoutMs = 30_000

export function createGatewayApi({ baseUrl, token, fetch: request }: GatewayApiOptions): GatewayApi {
  const one = (chat: string) => `/api/workspaces/${platform}/${encodeURIComponent(chat)}`

  return {
    workspace: async (chat) => workspaceSchema.parse(await call('GET', one(chat))),
    changeWorkspace: async (chat, change) => workspaceSchema.parse(await call('POST', one(chat), change)),
    async listSessions(cursor) {
      const query = new URLSearchParams({ platform, current: 'true', limit: String(pageSize) })
      if (cursor !== undefined) query.set('cursor', cursor)
      return sessionsSchema.parse(await call('GET', `/api/sessions?${query}`))
    },
    async currentSession(chat) {
      const query = new URLSearchParams({ platform, chat, current: 'true', limit: '1' })
      return sessionsSchema.parse(await call('GET', `/api/sessions?${query}`)).sessions[0]
    },
    async *messages(session) {
      let cursor: string | null = null
      for (;;) {
        const query = new URLSearchParams({
          order: 'oldest',
          roles: 'user,assistant',
          limit: String(messagesPerRequest),
        })
        if (cursor !== null) query.set('cursor', cursor)
        const path = `/api/sessions/${encodeURIComponent(session)}/messages?${query}`
        const page = messagesSchema.parse(await call('GET', path))
        yield* page.messages
        // The end of a list that grows has a cursor, too.
        if (page.next_cursor === null || page.messages.length < messagesPerRequest) return
        cursor = page.next_cursor
      }
    },
    async fork(session) {
      const made = await call('POST', `/api/sessions/${encodeURIComponent(session)}/fork`, {})
      return forkedSchema.parse(made).session.id
    },
    async deleteSession(session) {
      await call('DELETE', `/api/sessions/${encodeURIComponent(session)}`)
    },
    commands: async () => commandsSchema.parse(await call('GET', '/api/commands')),
    async toolView(chat, turn, callId) {
      try {
        return viewSchema.parse(
          await call('GET', `/${platform}/tool?${new URLSearchParams({ chat, turn, call: callId })}`),
        )
      } catch (error) {
        if (error instanceof HermesError && error.code === 'http/not-found') return undefined
        throw error
      }
    },
  }

  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const payload = body === undefined ? {} : { body: JSON.stringify(body) }
    let response: Response
    try {
      response = await request(new URL(path, baseUrl), {
        method,
        headers,
        signal: AbortSignal.timeout(timeoutMs),
        ...payload,
      })
    } catch (error) {
      throw toUnreachableError(error)
    }
    if (!response.ok) throw await readErrorResponse(response)
    return await response.json()
  }
}
