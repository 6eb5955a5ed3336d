/**
 * What the gateway has stored of the sessions of editors. All functions reject with the errors of the gateway, and `cli/no-daemon`.
 */
import { z } from 'zod'
import { type ApiAccess, callRoute, readAnswer, sendRequest } from '../../api/client.ts'
import { listMessages, listSessions } from '../../api/routes/sessions.ts'
import { changeWorkspace, showWorkspace } from '../../api/routes/workspaces.ts'
import type { ApiMessage, ApiMessages, ApiSession, ApiSessions } from '../../api/shapes/sessions.ts'
import type { ApiWorkspace, WorkspaceChange } from '../../api/shapes/workspaces.ts'
import { isHermesError } from '../../lib/errors.ts'
import type { ToolView } from '../../message/tool-view.ts'

const platform = 'acp'
/** Sessions of one page (contract §5). */
const pageSize = 50
/** Messages of one request. */
const messagesPerRequest = 200
const timeoutMs = 30_000

const signal = () => AbortSignal.timeout(timeoutMs)

export async function readWorkspace(access: ApiAccess, chat: string): Promise<ApiWorkspace> {
  return await callRoute(access, showWorkspace, { params: { platform, chat_id: chat }, signal: signal() })
}

/** What is absent stays as it is. */
export async function setWorkspace(access: ApiAccess, chat: string, body: WorkspaceChange): Promise<ApiWorkspace> {
  return await callRoute(access, changeWorkspace, { params: { platform, chat_id: chat }, body, signal: signal() })
}

/** 50 conversations, the newest first. `directory`: only those of this folder. */
export async function readPage(
  access: ApiAccess,
  cursor: string | undefined,
  directory: string | undefined,
): Promise<ApiSessions> {
  const query = { platform, current: 'true', limit: pageSize, cursor, directory } as const
  return await callRoute(access, listSessions, { query, signal: signal() })
}

/** The stored session that a conversation has now. */
export async function findCurrentSession(access: ApiAccess, chat: string): Promise<ApiSession | undefined> {
  const query = { platform, chat, current: 'true', limit: 1 } as const
  return (await callRoute(access, listSessions, { query, signal: signal() })).sessions[0]
}

/** All messages of a session, the oldest first. */
export async function* readMessages(access: ApiAccess, session: string): AsyncGenerator<ApiMessage> {
  let cursor: string | undefined
  for (;;) {
    const query = { order: 'oldest', roles: 'user,assistant', limit: messagesPerRequest, cursor } as const
    const input = { params: { session_id: session }, query, signal: signal() }
    const page: ApiMessages = await callRoute(access, listMessages, input)
    yield* page.messages
    // The end of a list that grows has a cursor, too.
    if (page.next_cursor === null || page.messages.length < messagesPerRequest) return
    cursor = page.next_cursor
  }
}

/** The daemon has written it; a newer one may have more kinds of parts, which are shown as nothing. */
const viewSchema = z.custom<ToolView>(
  (value) => typeof value === 'object' && value !== null && 'parts' in value && Array.isArray(value.parts),
)

export async function readToolView(
  access: ApiAccess,
  chat: string,
  turn: string,
  call: string,
): Promise<ToolView | undefined> {
  try {
    const path = `/${platform}/tool?${new URLSearchParams({ chat, turn, call })}`
    return readAnswer(viewSchema, await (await sendRequest(access, path, { signal: signal() })).json())
  } catch (error) {
    if (isHermesError(error, 'http/not-found')) return undefined
    throw error
  }
}
