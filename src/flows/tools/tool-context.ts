/**
 * What a tool call gets: the environment of its session, the files of its conversation, its limits, and what single tools reach.
 * Loaded with the first turn.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Environment } from '../../agent/environments/environment.ts'
import { type SessionResourcePool, withVariables } from '../../agent/environments/session-resources.ts'
import type { CallingTurn, ConversationPicture, ToolContext } from '../../agent/tools/tool.ts'
import { findAttachmentPaths } from '../../inbox/queries.ts'
import { createLruCache } from '../../lib/cache.ts'
import type { ChatMessage, ToolCall } from '../../message/transcript.ts'
import { findImagesOfConversation, findMessages, type MessageFilter } from '../../sessions/transcript.ts'
import type { AgentServicesDeps } from './agent-services.ts'
import { conversationTurnOf } from './turn-tools.ts'

/** The other services of the agent that a call needs. */
export interface ToolContextParts {
  readonly resources: SessionResourcePool
  /** Notes who waits for the environment of a session. */
  environmentUsed(environment: Environment, sessionId: string, turn: CallingTurn): void
  /** The variables that the commands of the turn get. */
  turnVariables(turn: CallingTurn): Promise<Readonly<Record<string, string>>>
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
  deps: AgentServicesDeps,
  { resources, environmentUsed, turnVariables }: ToolContextParts,
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
    const resource = resources.getOrCreate(sessionId, transcript, start, turn.settings?.workspace)
    const { environment, processes, todos, shell } = resource
    environmentUsed(environment, sessionId, turn)
    const conversationTurn = conversationTurnOf(turn)
    // A plugin outside of turns has no conversation that could read a result.
    const isStored = deps.resultFiles !== undefined && turn.sessionKey !== undefined
    return {
      ...{ sessionId, turnId, callId: call.id, signal, turn },
      environment: withTurnVariables(environment, { sessionId, turn, transcript, call }),
      session: { processes, todos, shell: lasts ? shell : undefined },
      conversation: {
        attachments: () => filesOfConversation(deps, conversationTurn),
        pictures: () => picturesOfConversation(deps, conversationTurn),
      },
      limits: { maxResultChars: agent.max_tool_result_chars, ...(isStored && { maxStoredChars }) },
    }
  }
}

async function picturesOfConversation(
  { store, home }: AgentServicesDeps,
  turnId: string,
): Promise<readonly ConversationPicture[]> {
  const images = await store.run(() => findImagesOfConversation(turnId))
  return images.map((image) => ({ path: join(home.pictures, image.file), image }))
}

/** Only downloads: a platform may name any path. */
async function filesOfConversation(deps: AgentServicesDeps, turnId: string): Promise<readonly string[]> {
  const { store, home, resultFiles } = deps
  const received = await store.run(() => findAttachmentPaths(turnId))
  // The messages of the inbox are deleted earlier than those of the conversation.
  const pictures = await picturesOfConversation(deps, turnId)
  const paths = new Set([...received, ...pictures.map(({ path }) => path)])
  const downloads = [...paths].filter((path) => resolve(path).startsWith(`${home.media}/`))
  const results = existsSync(home.results) ? await resultFiles?.of(turnId) : undefined
  return [...downloads, ...(results ?? [])]
}

/** More is truncated before secrets are taken out of it and it is stored as a file. */
const maxStoredChars = 2_000_000

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
  { skills, store }: Pick<AgentServicesDeps, 'skills' | 'store'>,
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
      const earlier = use.isHistoryRead ? [] : await store.run(() => findMessages(sessionId, skillLoads))
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
