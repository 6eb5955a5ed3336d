/**
 * `/api/workspaces/<platform>/<chat>`: the folder in which one conversation works, in place of `terminal.cwd`, and whether its owner
 * is asked before commands run. For front ends whose user has opened a folder, such as an editor.
 */
import { stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { z } from 'zod'
import { mcpConfig } from '../../agent/mcp/config.ts'
import { dropSessionGrants, isYolo, toggleYolo } from '../../approvals/queries.ts'
import { HermesError, messageOf, systemCode } from '../../lib/errors.ts'
import { isWithin } from '../../lib/files.ts'
import { sessionIdAt } from '../../lib/ids.ts'
import { parseInput } from '../../lib/read-shape.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import type { Usage } from '../../message/transcript.ts'
import { findKeyOfSession, latestUsage, switchSession } from '../../sessions/conversation-edits.ts'
import { removeSession } from '../../sessions/remove-session.ts'
import { sessionById } from '../../sessions/session-queries.ts'
import {
  changeSessionSetting,
  type EpochOptions,
  ensureSession,
  findSessionState,
  forgetDirectory,
  readSessionSettings,
  startNewSession,
} from '../../sessions/session-state.ts'
import { row, type Transaction } from '../../store/query.ts'
import type { ApiServices } from '../services.ts'
import { type ApiWorkspace, type workspaceBody, workspaceResponse } from '../shapes/workspaces.ts'
import { chatOfOwner } from './chat-of-owner.ts'

interface ChatOfPath {
  readonly platform: string
  readonly chat_id: string
}

/** Rejects `http/bad-request`, `http/not-found` and `store/...`. */
export async function showWorkspace(services: ApiServices, chat: ChatOfPath): Promise<ApiWorkspace> {
  const key = services.accountDirectory.sessionKey(chatOfOwner(services, chat))
  return await services.store.run(() => readWorkspace(services, key))
}

/** Rejects `http/bad-request`, `http/not-found`, `terminal/no-folder`, `sessions/not-found`, `sessions/busy` and `store/...`. */
export async function changeWorkspace(
  services: ApiServices,
  chat: ChatOfPath,
  change: z.output<typeof workspaceBody>,
): Promise<ApiWorkspace> {
  const source = chatOfOwner(services, chat)
  if (change.directory != null) await checkFolder(services, change.directory)
  const { mcp_servers: servers } = change
  const parsed = servers === undefined ? undefined : parseInput(z.strictObject(mcpConfig), { mcp_servers: servers })
  const changed = await services.store.run(() => storeChange(services, source, change, services.clock()))
  if (parsed !== undefined) {
    const key = services.accountDirectory.sessionKey(source)
    await services.agent.setSessionServers(key, parsed.mcp_servers, changed.directory ?? undefined)
  }
  return changed
}

async function checkFolder({ home, settings }: ApiServices, directory: string): Promise<void> {
  if (!isAbsolute(directory))
    throw new HermesError('terminal/no-folder', `It must be an absolute path, not ${directory}.`)
  // Commands of another backend do not run on this machine.
  if (!/^(?:local|bwrap)$/.test(settings().terminal.backend)) return
  const path = resolve(directory)
  const isOwn = path === home.root || (path.startsWith(`${home.root}/`) && !isWithin(path, home.workspace))
  if (isOwn)
    throw new HermesError('terminal/no-folder', `${path} belongs to the gateway, and the agent does not work in it.`)
  try {
    if (!(await stat(path)).isDirectory()) throw new HermesError('terminal/no-folder', `${path} is no folder.`)
  } catch (cause) {
    if (cause instanceof HermesError) throw cause
    const reason = systemCode(cause) === 'ENOENT' ? 'does not exist' : `cannot be read (${messageOf(cause)})`
    throw new HermesError('terminal/no-folder', `${path} ${reason}.`, { cause })
  }
}

function* readWorkspace({ settings }: ApiServices, key: SessionKey): Transaction<ApiWorkspace> {
  const { workspace, edits } = yield* readSessionSettings(key)
  const state = yield* findSessionState(key)
  const isOn = state !== undefined && (yield* isYolo(state.session_id))
  const newest = state === undefined ? undefined : yield* latestUsage(state.session_id)
  const usage: Usage | undefined = newest?.usage == null ? undefined : JSON.parse(newest.usage)
  return {
    directory: workspace ?? null,
    mode: isOn ? 'yolo' : 'default',
    edits: workspaceResponse.shape.edits.catch(null).parse(edits ?? null),
    session_id: state?.session_id ?? null,
    tokens:
      usage === undefined ? null : { used: usage.inputTokens + usage.outputTokens, window: settings().context_length },
  }
}

function* storeChange(
  services: ApiServices,
  source: SessionSource,
  { directory, mode, edits, session_id: session }: z.output<typeof workspaceBody>,
  now: number,
): Transaction<ApiWorkspace> {
  const { platform, userId = '' } = source
  const key = services.accountDirectory.sessionKey(source)
  const options = { key, source: JSON.stringify(source), platform, userId, now }
  if (session !== undefined) {
    if ((yield* row(sessionById, { id: session })) === undefined)
      throw new HermesError('sessions/not-found', `(${session})`)
    const owner = yield* findKeyOfSession(session)
    if (owner !== undefined && owner !== key) throw new HermesError('sessions/busy', `(${session})`)
    yield* goOnWith({ ...options, newSessionId: session })
  }
  const folder = directory == null ? null : resolve(directory)
  if (directory !== undefined && ((yield* readSessionSettings(key)).workspace ?? null) !== folder) {
    yield* changeSessionSetting(key, 'workspace', folder)
    yield* forgetDirectory(key)
  }
  if (edits !== undefined) yield* changeSessionSetting(key, 'edits', edits)
  if (mode !== undefined) yield* setMode(options, mode)
  return yield* readWorkspace(services, key)
}

/** The session of a conversation that has not begun is left out: it would be one more without messages. */
function* goOnWith(options: EpochOptions): Transaction<void> {
  const { key, newSessionId: session, now } = options
  const known = yield* findSessionState(key)
  const blank = sessionIdAt(now)
  if (known === undefined) yield* startNewSession({ ...options, newSessionId: blank }, '')
  yield* switchSession(options, 'resume')
  yield* dropSessionGrants(session)
  if (known === undefined) yield* removeSession(blank)
}

/** A conversation that has not begun gets its session. */
function* setMode(options: Omit<EpochOptions, 'newSessionId'>, mode: ApiWorkspace['mode']): Transaction<void> {
  const { key, userId, now } = options
  if (mode === 'default' && (yield* findSessionState(key)) === undefined) return
  const state = yield* ensureSession({ ...options, newSessionId: sessionIdAt(now) })
  if ((yield* isYolo(state.session_id)) !== (mode === 'yolo')) yield* toggleYolo(state.session_id, userId, now)
}
