/**
 * What an editor shows of a session besides its messages: the commands, the tokens, the mode and the title.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { type ApiAccess, callRoute } from '../../api/client.ts'
import { listCommands } from '../../api/routes/messages.ts'
import { messageOf } from '../../lib/errors.ts'
import { modeOf } from './modes.ts'
import type { OpenSession } from './session.ts'
import { findCurrentSession, readWorkspace } from './stored-sessions.ts'

interface Shown {
  readonly access: ApiAccess
  update(sessionId: string, update: SessionUpdate): Promise<void>
  warn(text: string): void
}

const timeoutMs = 30_000

/** Shows the slash commands of a session that was opened. Never rejects. */
export async function introduce({
  access,
  id,
  model,
  update,
  warn,
}: Shown & { id: string; model: string }): Promise<void> {
  try {
    const commands = await callRoute(access, listCommands, { signal: AbortSignal.timeout(timeoutMs) })
    await update(id, {
      sessionUpdate: 'available_commands_update',
      availableCommands: commands.map(({ name, description, argsHint }) => ({
        name: name.replace(/^\//, ''),
        description,
        ...(argsHint === '' ? {} : { input: { hint: argsHint } }),
      })),
    })
    if (model === 'demo') warn('no model is configured: the offline demonstration answers (config/no-model)')
  } catch (error) {
    warn(`the commands of the gateway cannot be shown: ${messageOf(error)}`)
  }
}

/** Shows what may have changed with a turn: the tokens, the mode (by `/yolo`) and the title. Never rejects. */
export async function refresh({ access, open, update, warn }: Shown & { open: OpenSession }): Promise<void> {
  const { id } = open.session
  try {
    const [{ tokens, ...workspace }, stored] = await Promise.all([
      readWorkspace(access, id),
      findCurrentSession(access, id),
    ])
    if (tokens !== null) {
      const { used, window } = tokens
      await update(id, { sessionUpdate: 'usage_update', used, size: Math.max(window, used) })
    }
    const mode = modeOf(workspace)
    if (mode !== open.mode) await update(id, { sessionUpdate: 'current_mode_update', currentModeId: mode })
    open.mode = mode
    if (stored !== undefined && stored.about !== open.title) {
      open.title = stored.about
      await update(id, { sessionUpdate: 'session_info_update', title: stored.about, updatedAt: stored.updated_at })
    }
  } catch (error) {
    warn(`the state of a session cannot be shown: ${messageOf(error)}`)
  }
}
