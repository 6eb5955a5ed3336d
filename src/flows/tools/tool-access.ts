/**
 * What single tools reach beyond their arguments: other chats, earlier conversations, the memory, the web, pictures. The code
 * behind each is loaded with its first call.
 */
import type { MemoryAccess } from '../../agent/memory/contract.ts'
import type { AuxiliaryCaller } from '../../agent/models/auxiliary.ts'
import type { TurnInfoFactory } from '../../agent/models/turn-info.ts'
import type { LoadedTools } from '../../agent/tools/registry.ts'
import type { ChatMessages, ScheduleJob, ToolContext, VisionAccess, WebAccess } from '../../agent/tools/tool.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Authority } from '../../message/authority.ts'
import { isAttended, type MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { ToolCall } from '../../message/transcript.ts'
import type { RoleSettings } from '../../platforms/config.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TransactionPart } from '../../store/transaction-part.ts'
import type { SendingTurn } from '../delivery/chat-messages.ts'
import type { AgentModels } from '../models/agent-models.ts'
import type { SessionRecallService } from '../sessions/session-recall.ts'
import { toolListOf } from './turn-tools.ts'
import type { WebAccessDeps } from './web-access.ts'

export interface ToolAccessDeps extends Pick<WebAccessDeps, 'redact' | 'log'> {
  readonly home: HomeLayout
  readonly settings: () => ReturnType<WebAccessDeps['settings']> & { readonly roles: RoleSettings }
  readonly environment: () => { readonly values: ReturnType<WebAccessDeps['variables']> }
  /** For calls of models that a tool makes. Without it, plugins do not see them. */
  readonly turnInfoOf?: TurnInfoFactory
  /** Messages to other chats, for the tool `send_message`. Without it, it sends nothing. */
  chatMessages?(turn: SendingTurn, callId: string): ChatMessages
  /** Sends a file that a tool has made to the chat of the turn. Without it, tools only name their files. */
  showFile?: (turn: ShowingTurn, callId: string, file: ShownFile) => Promise<TransactionPart>
  /** Opens the search of earlier conversations, for the tool `session_search`. */
  openRecall?(): Promise<SessionRecallService>
  /** The memory of a turn, for the tool `memory`. Without it, there is none. */
  readonly memory?: (turn: ToolTurn) => Promise<MemoryAccess>
  /** Scheduled jobs, for the tool `cronjob`. Without it, there are none. */
  scheduleJob?(turn: CallingTurn, callId: string): ScheduleJob
  /** The browser. Without it, there is none. */
  readonly browser?: NonNullable<ToolContext['browser']>
}

type ShowingTurn = Pick<Turn, 'id' | 'sessionKey' | 'event' | 'authority'>
type ShownFile = Parameters<NonNullable<ToolContext['showFile']>>[0]

/** The turn of a tool call. A plugin outside of turns has neither an event nor a chat. */
export type CallingTurn = Pick<Turn, 'sessionId' | 'id' | 'transcript' | 'authority'> &
  Partial<Pick<Turn, 'seq' | 'sessionKey' | 'event' | 'settings'>>

/** A turn, or what a plugin does outside of turns. */
export interface ToolTurn {
  readonly sessionId: string
  readonly sessionKey?: SessionKey
  readonly authority: Authority
  readonly event?: MessageEvent
  /** Stored with the session. */
  readonly toolNames?: readonly string[] | undefined
}

type ToolAccess = Pick<
  ToolContext,
  | 'chatMessages'
  | 'recall'
  | 'memory'
  | 'showFile'
  | 'vision'
  | 'mayReadFiles'
  | 'web'
  | 'browser'
  | 'scheduleJob'
  | 'asksBeforeEdits'
>

/** The tool, if the session of the turn is offered it. */
type FindTool = (turn: CallingTurn, name: string) => Promise<ReturnType<LoadedTools['resolve']>>

/** What single tools reach beyond their arguments. */
export function createToolAccess(
  deps: ToolAccessDeps,
  models: Pick<AgentModels, 'auxiliary' | 'model'>,
  findTool: FindTool,
): (call: ToolCall, turn: CallingTurn) => ToolAccess {
  const recall = openRecallLazily(deps)
  const web = openWebLazily(deps, models)
  return (call, turn) => {
    switch (call.name) {
      case 'write_file':
      case 'patch': {
        const { edits, workspace } = turn.settings ?? {}
        return edits === undefined || workspace === undefined ? {} : { asksBeforeEdits: workspace }
      }
      case 'send_message':
        return deps.chatMessages === undefined ? {} : { chatMessages: deps.chatMessages(turn, call.id) }
      case 'cronjob':
        return deps.scheduleJob === undefined ? {} : { scheduleJob: deps.scheduleJob(turn, call.id) }
      case 'session_search':
        return recall.contextOf(turn)
      case 'memory': {
        const { memory } = deps
        return memory === undefined ? {} : { memory: () => memory(turn) }
      }
      case 'text_to_speech':
      case 'image_generate':
        return showFileOf(deps, turn, call.id)
      case 'web_search':
      case 'web_extract':
        return { web: () => web.forTurn(turn) }
      case 'vision_analyze':
        return {
          vision: () => openVision(deps, models, turn),
          mayReadFiles: async () => await mayUseTool(deps, await findTool(turn, 'read_file'), 'read_file', turn),
        }
      case 'browser_vision':
        return { ...browserOf(deps), ...showFileOf(deps, turn, call.id), vision: () => openVision(deps, models, turn) }
      default:
        return call.name.startsWith('browser_') ? browserOf(deps) : {}
    }
  }
}

/** Whether the role of the person permits the tool here. */
async function mayUseTool(
  { settings }: ToolAccessDeps,
  tool: ReturnType<LoadedTools['resolve']>,
  name: string,
  { authority }: CallingTurn,
): Promise<boolean> {
  if (tool === undefined) return false
  const { permitsTool } = await import('../../agent/loop/role-ceiling.ts')
  return permitsTool(toolListOf(settings().roles, authority), { name, toolset: tool.facts.toolset, mode: tool.mode })
}

/** The web tools are loaded with their first call. */
function openWebLazily(deps: ToolAccessDeps, models: Pick<AgentModels, 'auxiliary' | 'model'>) {
  return {
    async forTurn(turn: CallingTurn): Promise<WebAccess> {
      const { createWebAccess } = await import('./web-access.ts')
      const variables = () => deps.environment().values
      return createWebAccess({ ...deps, variables, auxiliary: models.auxiliary }, await callerOf(deps, models, turn))
    },
  }
}

/** Loaded with the first call. */
async function openVision(
  deps: ToolAccessDeps,
  models: Pick<AgentModels, 'auxiliary' | 'model'>,
  turn: CallingTurn,
): Promise<VisionAccess> {
  const { createVision } = await import('../models/vision.ts')
  const { auxiliary } = models
  const { pictures } = deps.home
  return createVision({ pictures, auxiliary, redact: deps.redact }, await callerOf(deps, models, turn))
}

function browserOf({ browser }: ToolAccessDeps): Pick<ToolContext, 'browser'> {
  return browser === undefined ? {} : { browser }
}

/** For whom a tool calls a model. Empty outside of turns. */
async function callerOf(
  { turnInfoOf }: ToolAccessDeps,
  { model }: Pick<AgentModels, 'model'>,
  { event, sessionKey, settings, ...turn }: CallingTurn,
): Promise<AuxiliaryCaller> {
  if (event === undefined || sessionKey === undefined || settings === undefined || turnInfoOf === undefined) return {}
  const main = await model({ ...turn, event, settings })
  return { main, turn: turnInfoOf({ ...turn, event, sessionKey }, main) }
}

function showFileOf(
  { showFile }: ToolAccessDeps,
  { id, sessionKey, event, authority }: CallingTurn,
  callId: string,
): Pick<ToolContext, 'showFile'> {
  if (showFile === undefined || event === undefined || sessionKey === undefined || !isAttended(event)) return {}
  return { showFile: (file) => showFile({ id, sessionKey, event, authority }, callId, file) }
}

/** Earlier conversations, opened with the first search. */
function openRecallLazily({ openRecall }: ToolAccessDeps) {
  let recall: Promise<SessionRecallService> | undefined
  return {
    /** Nothing outside of turns. */
    contextOf({ sessionId, sessionKey, event, authority }: CallingTurn): Pick<ToolContext, 'recall'> {
      if (openRecall === undefined || sessionKey === undefined || event === undefined) return {}
      return {
        async recall(request, signal) {
          recall ??= openRecall()
          return (await recall).forTurn({ sessionId, sessionKey, event, authority })(request, signal)
        },
      }
    },
  }
}
