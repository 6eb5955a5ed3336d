/**
 * The HTTP API of the gateway, as far as an editor needs it.
 */
import { z } from 'zod'
import { type ApiAccess, type ApiCall, callApi, sendRequest } from '../../api/client.ts'
import { HermesError } from '../../lib/errors.ts'
import type { ToolView } from '../../message/tool-view.ts'

/** The conversation of a session. All methods reject with the errors of the gateway, and `cli/no-daemon`. */
export interface GatewayApi {
  workspace(chat: string, signal?: AbortSignal): Promise<Workspace>
  /** What is absent stays as it is. */
  changeWorkspace(chat: string, change: WorkspaceChange): Promise<Workspace>
  /** 50 conversations, the newest first. `directory`: only those of this folder. */
  listSessions(cursor: string | undefined, directory: string | undefined): Promise<SessionPage>
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
  edits: z.enum(['ask', 'workspace', 'everywhere']).nullable().default(null),
  session_id: z.string().nullable(),
  tokens: z.object({ used: z.number(), window: z.number() }).nullable().default(null),
})
export type Workspace = z.output<typeof workspaceSchema>

export interface WorkspaceChange {
  /** Null removes the folder of the conversation. */
  readonly directory?: string | null
  readonly mode?: Workspace['mode']
  readonly edits?: Workspace['edits']
  readonly session_id?: string
  readonly mcp_servers?: Readonly<Record<string, unknown>>
}

const sessionSchema = z.object({
  id: z.string(),
  chat_id: z.string().nullable(),
  title: z.string(),
  about: z.string(),
  directory: z.string().nullable().default(null),
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
/** The size of one page (contract §5). */
const pageSize = 50
/** Messages of one request. */
const messagesPerRequest = 200
const timeoutMs = 30_000

export function createGatewayApi(access: ApiAccess): GatewayApi {
  const one = (chat: string) => `/api/workspaces/${platform}/${encodeURIComponent(chat)}`

  return {
    workspace: (chat) => ask(one(chat), workspaceSchema),
    changeWorkspace: (chat, change) => ask(one(chat), workspaceSchema, { body: change }),
    async listSessions(cursor, directory) {
      const query = new URLSearchParams({ platform, current: 'true', limit: String(pageSize) })
      if (cursor !== undefined) query.set('cursor', cursor)
      if (directory !== undefined) query.set('directory', directory)
      return await ask(`/api/sessions?${query}`, sessionsSchema)
    },
    async currentSession(chat) {
      const query = new URLSearchParams({ platform, chat, current: 'true', limit: '1' })
      return (await ask(`/api/sessions?${query}`, sessionsSchema)).sessions[0]
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
        const page: z.output<typeof messagesSchema> = await ask(path, messagesSchema)
        yield* page.messages
        // The end of a list that grows has a cursor, too.
        if (page.next_cursor === null || page.messages.length < messagesPerRequest) return
        cursor = page.next_cursor
      }
    },
    async fork(session) {
      const path = `/api/sessions/${encodeURIComponent(session)}/fork`
      return (await ask(path, forkedSchema, { body: {} })).session.id
    },
    async deleteSession(session) {
      await send(`/api/sessions/${encodeURIComponent(session)}`, { method: 'DELETE' })
    },
    commands: () => ask('/api/commands', commandsSchema),
    async toolView(chat, turn, callId) {
      try {
        return await ask(`/${platform}/tool?${new URLSearchParams({ chat, turn, call: callId })}`, viewSchema)
      } catch (error) {
        if (error instanceof HermesError && error.code === 'http/not-found') return undefined
        throw error
      }
    },
  }

  async function send(path: string, call: ApiCall = {}): Promise<Response> {
    return await sendRequest(access, path, { ...call, signal: AbortSignal.timeout(timeoutMs) })
  }

  async function ask<Shape extends z.ZodType>(path: string, shape: Shape, call?: ApiCall): Promise<z.output<Shape>> {
    return await callApi(access, path, shape, { ...call, signal: AbortSignal.timeout(timeoutMs) })
  }
}
