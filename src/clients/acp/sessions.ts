/**
 * The open sessions of an editor, and the gateway behind them.
 */

import { isAbsolute, resolve } from 'node:path'
import type { AgentContext, McpServer, SessionInfo } from '@agentclientprotocol/sdk'
import { type ApiAccess, callRoute } from '../../api/client.ts'
import type { Endpoint } from '../../api/endpoint.ts'
import { deleteSession, forkSession } from '../../api/routes/sessions.ts'
import type { ApiSession } from '../../api/shapes/sessions.ts'
import { lazy } from '../../lib/cache.ts'
import { messageOf } from '../../lib/errors.ts'
import { createChatClient } from '../chat/chat-client.ts'
import type { Editor } from './editor.ts'
import { introduce, refresh } from './introduce.ts'
import { toServerConfig } from './mcp-servers.ts'
import { changeToMode, modeOf } from './modes.ts'
import { replayed } from './replay.ts'
import { invalidParams, unknownSession } from './request-errors.ts'
import { type AcpSession, createAcpSession, type OpenSession } from './session.ts'
import {
  findCurrentSession,
  readMessages,
  readPage,
  readToolView,
  readWorkspace,
  setWorkspace,
} from './stored-sessions.ts'

const requestTimeoutMs = 30_000

export interface AcpSessionsOptions {
  readonly fetch: typeof fetch
  /** Opens the gateway. Called with the first session, and again after a failure. */
  openGateway(): Promise<Pick<Endpoint, 'url' | 'token' | 'model' | 'isDaemon' | 'close'>>
  editorOf(client: AgentContext): Editor
  /** For the person who looks at the log of the agent in the editor. */
  warn(text: string): void
}

/** All methods reject with a `RequestError`, or with an error of the gateway. */
export interface AcpSessions {
  create(client: AgentContext, request: SessionPlace): Promise<OpenSession>
  /** `replays`: the editor receives the messages of the session first. */
  reopen(client: AgentContext, request: SessionPlace & NamedSession, replays: boolean): Promise<OpenSession>
  fork(client: AgentContext, request: SessionPlace & NamedSession): Promise<OpenSession>
  prompt(
    client: AgentContext,
    id: string,
    ...prompt: Parameters<AcpSession['prompt']>
  ): ReturnType<AcpSession['prompt']>
  cancel(id: string): Promise<void>
  setMode(id: string, mode: string): Promise<void>
  list(request: ListRequest): Promise<SessionList>
  /** Stops what runs in the session, and its MCP servers. */
  leave(id: string): Promise<void>
  remove(id: string): Promise<void>
  /** The editor has gone. A gateway in this process ends with its turns; those of a daemon go on. May be called twice. */
  close(): Promise<void>
}

interface ListRequest {
  /** Only sessions of this folder. */
  readonly cwd?: string | null | undefined
  readonly cursor?: string | null | undefined
}

interface SessionList {
  readonly sessions: SessionInfo[]
  readonly nextCursor: string | null
}

interface NamedSession {
  readonly sessionId: string
}

interface SessionPlace {
  readonly cwd: string
  readonly mcpServers?: readonly McpServer[] | undefined
}

interface Gateway {
  readonly endpoint: Awaited<ReturnType<AcpSessionsOptions['openGateway']>>
  readonly access: ApiAccess
}

export function createAcpSessions(options: AcpSessionsOptions): AcpSessions {
  const { editorOf, warn } = options
  const sessions = new Map<string, OpenSession>()
  const connect = lazy(() => openGateway(options))
  let isClosed = false
  const report = (text: string) => {
    if (!isClosed) warn(text)
  }

  async function gateway(): Promise<Gateway> {
    if (isClosed) throw new Error('The editor has gone.')
    return await connect()
  }

  return {
    create: async (client, request) => await follow(client, crypto.randomUUID(), workspaceOf(request)),

    async reopen(client, request, replays) {
      const { sessionId: id } = request
      const where = workspaceOf(request)
      const { access } = await gateway()
      const { stored, directory } = await findSession(access, id)
      // A turn may run there, and another editor may show it.
      if (directory !== resolve(where.cwd))
        throw invalidParams(`The session works in ${directory}. Open it there, or copy it with session/fork.`)
      if (!replays || stored === undefined) return await follow(client, id, where)
      const shown = { id, cwd: where.cwd, editor: editorOf(client) }
      return await follow(client, id, where, { replay: () => replay(access, stored.id, shown) })
    },

    async fork(client, request) {
      const { sessionId } = request
      const where = workspaceOf(request)
      const { access } = await gateway()
      const { stored } = await findSession(access, sessionId)
      if (stored === undefined) throw unknownSession(sessionId)
      return await follow(client, crypto.randomUUID(), where, { stored: await fork(access, stored.id) })
    },

    async prompt(client, id, ...prompt) {
      const open = find(id)
      const { session, servers } = open
      const { access } = await gateway()
      // A gateway that was started again has forgotten the servers.
      if (Object.keys(servers).length > 0) await setWorkspace(access, id, { mcp_servers: servers })
      const response = await session.prompt(...prompt)
      await refresh({ access, open, update: editorOf(client).update, warn: report })
      return response
    },

    cancel: async (id) => await sessions.get(id)?.session.cancel(),

    async setMode(id, mode) {
      const open = find(id)
      open.mode = modeOf(await setWorkspace((await gateway()).access, id, changeToMode(mode)))
    },

    list: async (request) => await listSessions((await gateway()).access, request),

    leave,

    async remove(id) {
      if (sessions.has(id)) await leave(id)
      await removeSession((await gateway()).access, id)
    },

    async close() {
      if (isClosed) return
      const open = [...sessions.values()]
      const gateway = await connect.made()?.catch(() => undefined)
      isClosed = true
      sessions.clear()
      // No one would answer the questions of a turn in this process, which ends.
      if (gateway?.endpoint.isDaemon === false) await Promise.all(open.map(({ session }) => session.cancel()))
      else await Promise.all(open.map((session) => stopServers(gateway?.access, session, warn)))
      for (const { session } of open) session.close()
      await gateway?.endpoint.close()
    },
  }

  /** Follows a conversation in place of the session that followed it here before. `stored`: the session that it goes on with. */
  async function follow(
    client: AgentContext,
    id: string,
    { cwd, servers }: { readonly cwd: string; readonly servers: OpenSession['servers'] },
    { stored, replay }: { readonly stored?: string; replay?(): Promise<readonly string[]> } = {},
  ): Promise<OpenSession> {
    const { endpoint, access } = await gateway()
    const { url, token, model } = endpoint
    const workspace = await setWorkspace(access, id, {
      directory: cwd,
      mcp_servers: Object.keys(servers).length === 0 ? undefined : servers,
      session_id: stored,
    })
    // Edits ask first until the person chooses another mode, as in Hermes.
    if (workspace.edits === null) await setWorkspace(access, id, { edits: 'ask' })
    sessions.get(id)?.session.close()
    const editor = editorOf(client)
    const session = createAcpSession({
      id,
      cwd,
      client: createChatClient({ url, token, fetch: options.fetch, platform: 'acp', chat: id }),
      editor,
      replay,
      view: (turnId, callId) => readToolView(access, id, turnId, callId),
      warn: report,
    })
    const opened = { session, servers, mode: modeOf(workspace), title: '' }
    sessions.set(id, opened)
    try {
      await session.ready()
    } catch (error) {
      session.close()
      if (sessions.get(id) === opened) sessions.delete(id)
      await stopServers(access, opened, warn)
      throw error
    }
    // After the response, because the editor does not know the session before.
    setTimeout(() => void introduce({ access, id, model, update: editor.update, warn: report }), 0)
    return opened
  }

  function find(id: string): OpenSession {
    const session = sessions.get(id)
    if (session === undefined) throw unknownSession(id)
    return session
  }

  async function leave(id: string): Promise<void> {
    const open = find(id)
    await open.session.cancel()
    open.session.close()
    sessions.delete(id)
    await stopServers((await gateway()).access, open, warn)
  }
}

/** Never rejects. */
async function stopServers(
  access: ApiAccess | undefined,
  { session, servers }: OpenSession,
  warn: (text: string) => void,
) {
  if (Object.keys(servers).length === 0) return
  try {
    if (access !== undefined) await setWorkspace(access, session.id, { mcp_servers: {} })
  } catch (error) {
    warn(`the MCP servers of a session were not stopped: ${messageOf(error)}`)
  }
}

async function openGateway(options: AcpSessionsOptions): Promise<Gateway> {
  const endpoint = await options.openGateway()
  return { endpoint, access: { url: endpoint.url, token: endpoint.token, fetch: options.fetch } }
}

/** `stored` is undefined for a session without a message. Rejects with a `RequestError` for one that there is not. */
async function findSession(
  access: ApiAccess,
  id: string,
): Promise<{ readonly stored: ApiSession | undefined; readonly directory: string }> {
  if (!isSessionId(id)) throw unknownSession(id)
  const stored = await findCurrentSession(access, id)
  // A conversation goes on after its session was deleted, without the folder.
  const { directory } = stored ?? (await readWorkspace(access, id))
  if (directory === null) throw unknownSession(id)
  return { stored, directory }
}

async function removeSession(access: ApiAccess, id: string): Promise<void> {
  const { stored } = await findSession(access, id)
  if (stored !== undefined)
    await callRoute(access, deleteSession, {
      params: { session_id: stored.id },
      signal: AbortSignal.timeout(requestTimeoutMs),
    })
  // It is unknown from now on.
  await setWorkspace(access, id, { directory: null })
}

/** Resolves with the id of the copy. */
async function fork(access: ApiAccess, id: string): Promise<string> {
  const input = { params: { session_id: id }, body: {}, signal: AbortSignal.timeout(requestTimeoutMs) }
  return (await callRoute(access, forkSession, input)).session.id
}

/** Resolves with the texts of the agent. */
async function replay(
  access: ApiAccess,
  stored: string,
  { id, cwd, editor }: { readonly id: string; readonly cwd: string; readonly editor: Editor },
): Promise<readonly string[]> {
  const texts: string[] = []
  for await (const message of readMessages(access, stored)) {
    if (message.role === 'assistant' && message.text !== '') texts.push(message.text)
    for (const change of replayed(message, cwd)) await editor.update(id, change)
  }
  return texts
}

async function listSessions(access: ApiAccess, { cwd, cursor }: ListRequest): Promise<SessionList> {
  const page = await readPage(access, cursor ?? undefined, cwd ?? undefined)
  const matches = page.sessions.flatMap(({ chat_id: chat, about, directory, updated_at: updatedAt }) =>
    // A session without a message has nothing to show.
    chat === null || about === '' ? [] : [{ sessionId: chat, cwd: directory ?? '/', title: about, updatedAt }],
  )
  return { sessions: matches, nextCursor: page.next_cursor }
}

/** Throws a `RequestError`. Whether the folder exists is known to the gateway. */
function workspaceOf({ cwd, mcpServers = [] }: SessionPlace) {
  if (!isAbsolute(cwd)) throw invalidParams(`cwd must be an absolute path, not ${JSON.stringify(cwd.slice(0, 200))}.`)
  return { cwd, servers: toServerConfig(mcpServers) }
}

/** What can be the name of a conversation. */
function isSessionId(id: string): boolean {
  return /^[\w.@-]{1,128}$/.test(id)
}
