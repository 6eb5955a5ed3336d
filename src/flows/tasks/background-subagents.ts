/**
 * Starts sub-agents that go on after their turn (contract S5). Each of them is a background task: it is on disk before its id
 * is returned, has a session of its own, and goes on after a crash. Loaded with the first of them.
 */
import type { PlannedSubagent } from '../../agent/loop/agent-turn.ts'
import { subagentPrompt } from '../../agent/loop/subagents.ts'
import { DelegationRefused } from '../../agent/tools/tool.ts'
import { messageOf } from '../../lib/errors.ts'
import type { BackgroundDelegation } from '../../message/event.ts'
import type { SessionSource } from '../../message/source.ts'
import type { ToolCall } from '../../message/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { BackgroundTasks } from './background-tasks.ts'
import type { DelegationDeps } from './hand-in.ts'

/** Starts one sub-agent per plan for this call of a turn. Rejects with `DelegationRefused`, or as the inbox for the first one. */
export type StartSubagents = (
  turn: Turn,
  call: ToolCall,
  planned: readonly PlannedSubagent[],
) => Promise<readonly string[]>

/** An agent that answers each result with another sub-agent must not become a bill. */
const maxRounds = 10

function roundOf({ event }: Turn): number {
  return (event.subagentResult?.round ?? event.commandReport?.round ?? 0) + 1
}

export function createBackgroundSubagents(
  tasks: Pick<BackgroundTasks, 'start' | 'details'>,
  { settings, failpoint }: Pick<DelegationDeps, 'settings' | 'failpoint'>,
): StartSubagents {
  /** Session keys, one for each sub-agent that is not on disk yet. */
  const starting: string[] = []

  return async (turn, call, planned) => {
    const { sessionKey } = turn
    if (roundOf(turn) > maxRounds)
      throw new DelegationRefused(
        'too_many_rounds',
        `The last ${maxRounds} results each led to another sub-agent, and no message of the user came in between. Ask the user whether to go on. None was started.`,
      )
    const open = tasks.details().filter(({ delegation }) => delegation?.sessionKey === sessionKey)
    const limit = settings().delegation.max_concurrent_children
    const count = open.length + starting.filter((key) => key === sessionKey).length
    if (count + planned.length > limit)
      throw new DelegationRefused(
        'too_many_in_background',
        `This conversation has ${count} sub-agents in the background, and at most ${limit} may work. Wait for a result. None was started.`,
      )
    starting.push(...planned.map(() => sessionKey))
    const ids: string[] = []
    try {
      for (const [index, plan] of planned.entries()) ids.push(await startOne(turn, call, plan, index))
      failpoint?.('delegation:started')
      return ids
    } catch (error) {
      if (ids.length === 0) throw error
      throw new DelegationRefused(
        'partly_started',
        `Only these were started: ${ids.join(', ')}. The next one was not: ${messageOf(error)}`,
      )
    } finally {
      for (const _ of planned) starting.splice(starting.indexOf(sessionKey), 1)
    }
  }

  function startOne(turn: Turn, call: ToolCall, plan: PlannedSubagent, index: number): Promise<string> {
    const { source } = turn.event
    const subagentId = `${call.id}.${index}`
    return tasks.start({
      prompt: subagentPrompt(plan.task),
      requester: { id: requesterIdOf(source), name: source.userName ?? requesterIdOf(source) },
      authority: turn.authority,
      deliver: null,
      maxIterations: settings().delegation.max_iterations,
      delegation: delegationOf(turn, plan, subagentId),
      attachments: plan.pictures.map(({ path, image }) => ({ kind: 'photo', path, mimeType: image.mimeType, image })),
      key: `delegation:${turn.id}:${subagentId}`,
    })
  }
}

function delegationOf(
  turn: Turn,
  { task, role, depth, tools }: PlannedSubagent,
  subagentId: string,
): BackgroundDelegation {
  const { goal, model, outputSchema } = task
  const { id: turnId, sessionId, sessionKey, event } = turn
  return {
    ...{ round: roundOf(turn), sessionKey, source: event.source, sessionId, turnId, subagentId, role, depth, goal },
    tools: [...tools],
    model,
    outputSchema,
  }
}

/** Returns the id that tasks have which people request in a chat. */
function requesterIdOf({ platform, userId, chatId }: SessionSource): string {
  return `${platform}:${userId ?? chatId}`
}
