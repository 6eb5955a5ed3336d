/**
 * Shows the tool calls of a session: the start and the end at once, and what a call did when the gateway has stored it.
 */
import type { SessionUpdate, ToolCallContent, ToolCallUpdate } from '@agentclientprotocol/sdk'
import { sleep } from '../../lib/timers.ts'
import type { ToolView } from '../../message/tool-view.ts'
import type { ChatEvent } from '../chat/chat-client.ts'
import type { EditorAbilities } from './editor.ts'
import { kindOf, locationsOfLabel, showCall, textContent, titleOf } from './tool-content.ts'

type Activity = Extract<ChatEvent, { readonly type: 'activity' }>['activity']

export interface ToolCallsOptions {
  readonly cwd: string
  readonly abilities: EditorAbilities
  update(update: SessionUpdate): Promise<void>
  /** Undefined while the gateway has not stored the call. Rejects when it cannot be reached. */
  view(turnId: string, callId: string): Promise<ToolView | undefined>
  warn(text: string): void
}

export interface ToolCalls {
  show(activity: Activity): Promise<void>
  /** Calls that have not ended did not run to their end: the turn has. */
  endOpen(): Promise<void>
  /** Resolves when the details of ended calls were shown. Never rejects. */
  settled(): Promise<void>
}

/** A call is stored after its end was announced. */
const viewDelaysMs = [0, 50, 200, 800]

export function createToolCalls({ cwd, abilities, update, view, warn }: ToolCallsOptions): ToolCalls {
  const open = new Set<string>()
  const details = new Set<Promise<void>>()

  return {
    async show(activity) {
      if (activity.kind === 'tool-started') {
        const { tool, label, callId = tool } = activity
        open.add(callId)
        const shownAs = { title: titleOf(tool, label), name: tool, kind: kindOf(tool) }
        const locations = locationsOfLabel(tool, label, cwd)
        await update({
          sessionUpdate: 'tool_call',
          toolCallId: callId,
          ...shownAs,
          status: 'in_progress',
          ...(locations.length === 0 ? {} : { locations }),
          ...(tool === 'terminal' && abilities.terminals ? terminalStart(callId, cwd) : {}),
        })
      }
      if (activity.kind === 'tool-ended') {
        const { tool, ok, summary, turnId, callId = tool } = activity
        open.delete(callId)
        await update({
          sessionUpdate: 'tool_call_update',
          toolCallId: callId,
          status: ok ? 'completed' : 'failed',
          ...(summary === '' || (tool === 'terminal' && abilities.terminals)
            ? {}
            : { content: [textContent(summary)] }),
        })
        if (turnId !== undefined) addDetails(turnId, callId, tool)
      }
    },
    async endOpen() {
      for (const toolCallId of open) await update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'failed' })
      open.clear()
    },
    async settled() {
      await Promise.all(details)
    },
  }

  function addDetails(turnId: string, callId: string, tool: string): void {
    const showing: Promise<void> = showDetails(turnId, callId, tool)
      .catch((error: unknown) => warn(`what a tool call did cannot be shown: ${String(error)}`))
      .finally(() => details.delete(showing))
    details.add(showing)
  }

  async function showDetails(turnId: string, callId: string, tool: string): Promise<void> {
    for (const delay of viewDelaysMs) {
      await sleep(delay)
      const toolView = await view(turnId, callId)
      if (toolView === undefined) continue
      const shown = showCall(toolView, cwd)
      if (shown.plan !== undefined) await update({ sessionUpdate: 'plan', entries: shown.plan })
      const change: ToolCallUpdate = { toolCallId: callId }
      if (shown.locations.length > 0) change.locations = shown.locations
      if (tool === 'terminal' && abilities.terminals && shown.terminal !== undefined)
        change._meta = terminalEnd(callId, shown.terminal)
      else if (shown.content.length > 0) change.content = shown.content
      await update({ sessionUpdate: 'tool_call_update', ...change })
      return
    }
  }
}

/** The extension of Zed for terminals of the agent, which the client advertises as `terminal_output`. */
function terminalStart(id: string, cwd: string): { content: ToolCallContent[]; _meta: Record<string, unknown> } {
  return {
    content: [{ type: 'terminal', terminalId: id }],
    _meta: { terminal_info: { terminal_id: id, cwd } },
  }
}

function terminalEnd(id: string, { output, exitCode }: { output: string; exitCode: number | null }) {
  return {
    terminal_output: { terminal_id: id, data: output.replaceAll('\n', '\r\n') },
    terminal_exit: { terminal_id: id, exit_code: exitCode, signal: null },
  }
}
