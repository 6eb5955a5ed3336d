/**
 * What a tool call gets: the environment of its session, the files of its conversation, its limits, and what single tools reach.
 * Loaded with the first turn.
 */
import { resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config.ts'
import type { Environment } from '../../agent/environments/environment.ts'
import { type SessionResourcePool, withVariables } from '../../agent/environments/session-resources.ts'
import type { ConversationPicture, ToolContext } from '../../agent/tools/tool.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Logger } from '../../lib/log.ts'
import { createLruCache } from '../../lib/lru-cache.ts'
import type { ChatMessage, ToolCall } from '../../message/transcript.ts'
import { changeSessionSetting } from '../../sessions/session-state.ts'
import type { MessageFilter } from '../../sessions/transcript.ts'
import type { ResultFiles } from './result-files.ts'
import type { CallingTurn, createToolAccess } from './tool-access.ts'
import type { ToolRuntimeDeps } from './tool-runtime.ts'

export interface ToolContextDeps extends Pick<ToolRuntimeDeps, 'skills'> {
  readonly home: Pick<HomeLayout, 'media'>
  readonly settings: () => Pick<AgentConfig, 'agent' | 'terminal'>
  readonly log: Logger
  /** Paths of the downloaded files of the conversation to which the turn belongs. */
  attachmentsOf(turnId: string): Promise<readonly string[]>
  /** The pictures of the conversation to which the turn belongs. Absent: there are none. */
  picturesOf?(turnId: string): Promise<readonly ConversationPicture[]>
  /** Results that were too long for the model. Absent: none are stored. */
  readonly resultFiles?: Pick<ResultFiles, 'shorten' | 'of'>
  /** Messages about background commands. Absent: none come. */
  readonly commandReports?: {
    /** What a call of this turn may use; nothing where no message can come later. */
    watchesOf(turn: CallingTurn, callId: string): Pick<ToolContext, 'commandWatches'>
  }
  /** Includes messages that summaries have replaced. Rejects `store/...`. */
  findMessages(sessionId: string, filter: MessageFilter): Promise<readonly ChatMessage[]>
}

/** The other services of the agent that a call needs. */
export interface ToolContextParts {
  readonly resources: SessionResourcePool
  readonly accessOf: ReturnType<typeof createToolAccess>
  /** Notes who waits for the environment of a session. */
  environmentUsed(environment: Environment, sessionId: string, turn: CallingTurn): void
  /** The variables that the commands of the turn get. */
  turnVariables(turn: CallingTurn): Promise<Readonly<Record<string, string>>>
  /** What a tool does before it changes files. */
  beforeChange(change: FileChange): Pick<ToolContext, 'beforeChange'>
}

/** A call that may change files. */
export interface FileChange extends Pick<ToolContext, 'environment' | 'turnId' | 'authority' | 'signal'> {
  readonly turn: CallingTurn
}

/** A sub-agent has a session and a turn of its own, within the turn of its parent. */
interface Caller {
  readonly sessionId: string
  readonly turnId: string
  readonly turn: CallingTurn
}

export type CreateToolContext = (
  caller: Caller,
  transcript: () => readonly ChatMessage[],
  call: ToolCall,
  signal: AbortSignal,
) => ToolContext

export function createToolContexts(
  deps: ToolContextDeps,
  { resources, accessOf, environmentUsed, turnVariables, beforeChange }: ToolContextParts,
): CreateToolContext {
  const withTurnVariables = createEnvironments(deps, turnVariables)
  return ({ sessionId, turnId, turn }, transcript, call, signal) => {
    const { agent, terminal } = deps.settings()
    // A sub-agent begins where its parent works.
    const isOwn = sessionId === turn.sessionId
    const lasts = terminal.persistent_shell
    const start = isOwn
      ? ((lasts ? turn.settings?.directory : undefined) ?? turn.event?.task?.directory)
      : resources.directoryOf(turn.sessionId)
    const { environment, shell, ...others } = resources.getOrCreate(
      sessionId,
      transcript,
      start,
      turn.settings?.workspace,
    )
    environmentUsed(environment, sessionId, turn)
    return {
      environment: withTurnVariables(environment, { sessionId, turn, transcript, call }),
      ...others,
      ...{ sessionId, turnId, callId: call.id, signal, authority: turn.authority },
      attachments: () => filesOfConversation(deps, conversationTurnOf(turn)),
      pictures: async () => (await deps.picturesOf?.(conversationTurnOf(turn))) ?? [],
      log: deps.log.child({ turn: turnId, tool: call.name }),
      ...resultLimits(deps, agent.max_tool_result_chars, turn, call.id),
      ...(lasts && shellAccess(shell, isOwn ? turn : undefined)),
      ...(isOwn && deps.commandReports?.watchesOf(turn, call.id)),
      ...beforeChange({ environment, turn, turnId, authority: turn.authority, signal }),
      ...accessOf(call, turn),
    }
  }
}

/** Only downloads: a platform may name any path. */
async function filesOfConversation(
  { attachmentsOf, home, resultFiles }: ToolContextDeps,
  turnId: string,
): Promise<readonly string[]> {
  const paths = await attachmentsOf(turnId)
  const downloads = paths.filter((path) => resolve(path).startsWith(`${home.media}/`))
  return [...downloads, ...((await resultFiles?.of(turnId)) ?? [])]
}

/** More is truncated before secrets are taken out of it and it is stored as a file. */
const maxStoredChars = 2_000_000

/** What is too long for the model is stored as a file of the turn. */
function resultLimits(
  { resultFiles }: Pick<ToolContextDeps, 'resultFiles'>,
  maxResultChars: number,
  turn: CallingTurn,
  callId: string,
): Pick<ToolContext, 'limits' | 'storeResult'> {
  // A plugin outside of turns has no conversation that could read it.
  if (resultFiles === undefined || turn.sessionKey === undefined) return { limits: { maxResultChars } }
  return {
    limits: { maxResultChars, maxStoredChars },
    storeResult: (result) => resultFiles.shorten({ turnId: conversationTurnOf(turn), callId }, result, maxResultChars),
  }
}

/** What a command leaves to the next one. Where that begins is stored with the result; not outside of turns. */
function shellAccess(
  shell: ToolContext['shell'],
  { sessionKey }: Partial<CallingTurn> = {},
): Pick<ToolContext, 'shell' | 'storeDirectory'> {
  const access = shell === undefined ? {} : { shell }
  if (sessionKey === undefined) return access
  return {
    ...access,
    storeDirectory: (path) => ({ write: () => changeSessionSetting(sessionKey, 'directory', path) }),
  }
}

/** A sub-agent in the background works for the conversation of its parent. */
function conversationTurnOf({ event, id }: CallingTurn): string {
  return event?.task?.delegation?.turnId ?? id
}

const maxSkillSessions = 1_000

interface SkillUse {
  /** This process has read a skill in the session, or found that it was read before. */
  loads: boolean
  isHistoryRead: boolean
}

interface EnvironmentRequest {
  readonly sessionId: string
  readonly turn: CallingTurn
  readonly call: ToolCall
  transcript(): readonly ChatMessage[]
}

/**
 * Adds variables to the environment of the commands of a turn: those of the turn, and those of the skills that its conversation has
 * loaded. A guest does not get the latter: their values are secrets of the operator.
 */
function createEnvironments(
  { skills, findMessages }: Pick<ToolContextDeps, 'skills' | 'findMessages'>,
  turnVariables: (turn: CallingTurn) => Promise<Readonly<Record<string, string>>>,
) {
  const sessions = createLruCache<SkillUse>(maxSkillSessions)
  const useOf = (sessionId: string): SkillUse => {
    const use = sessions.get(sessionId) ?? { loads: false, isHistoryRead: false }
    sessions.set(sessionId, use)
    return use
  }
  return (environment: Environment, { sessionId, turn, call, transcript }: EnvironmentRequest): Environment => {
    // Its programs talk to the gateway from inside the sandbox of this machine.
    const ofTurn =
      environment.isSandboxed === undefined ? environment : withVariables(environment, () => turnVariables(turn))
    const use = useOf(sessionId)
    if (call.name === skillLoads.toolName) use.loads = true
    if (skills === undefined || turn.authority.role === 'guest') return ofTurn
    // Cheap, because each call asks: most conversations have loaded none.
    if (use.isHistoryRead && !use.loads && !transcript().some(namesSkill)) return ofTurn
    const ofSkills = async (): Promise<Readonly<Record<string, string>>> => {
      const earlier = use.isHistoryRead ? [] : await findMessages(sessionId, skillLoads)
      use.loads ||= earlier.length > 0
      const variables =
        use.loads || transcript().some(namesSkill)
          ? await (await skills()).variablesOf({ sessionId, transcript, earlier })
          : {}
      use.isHistoryRead = true
      return variables
    }
    return withVariables(ofTurn, ofSkills, { outsideSandbox: true })
  }
}

/** What loads a skill into a conversation: a call of the tool, or `/name` in a message. */
const skillLoads: MessageFilter = { toolName: 'skill_view', userStart: '[Skill of the user:' }

/** Whether a message has loaded a skill, so that the variables of skills have to be found. */
function namesSkill(message: ChatMessage): boolean {
  if (message.role === 'user') return message.content.startsWith(skillLoads.userStart)
  return message.role === 'assistant' && message.toolCalls?.some(({ name }) => name === skillLoads.toolName) === true
}
