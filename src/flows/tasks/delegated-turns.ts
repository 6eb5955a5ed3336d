/**
 * The turn of a sub-agent in the background: its model, its tools, its prompt, and its end. Loaded with the first such turn.
 */

import type { AgentTools } from '../../agent/loop/agent-tools.ts'
import type { SubagentWork } from '../../agent/loop/agent-turn.ts'
import { onlyTools } from '../../agent/loop/subagent-tools.ts'
import { subagentSystemPrompt } from '../../agent/loop/subagents.ts'
import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { TurnInfo } from '../../agent/support/agent-hooks.ts'
import { messageOf } from '../../lib/errors.ts'
import { brand } from '../../lib/ids.ts'
import type { BackgroundDelegation } from '../../message/event.ts'
import type { SessionId } from '../../message/ids.ts'
import { readSessionSettings } from '../../sessions/session-state.ts'
import { type FrozenPrompt, readFrozenPrompt } from '../../sessions/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import { enlist, type TransactionPart } from '../../store/query.ts'
import type { ModelTurn } from '../models/agent-models.ts'
import type { TurnRunResult } from '../turn/output.ts'
import { type DelegationDeps, type HandedInTask, outcomeOf, prepareHandIn } from './hand-in.ts'

export interface DelegatedTurns {
  /** What the turn is for the agent; `info` is what plugins learn about it. */
  work(turn: Turn, info: TurnInfo): SubagentWork
  model(turn: Turn): Promise<ChosenModel>
  tools(turn: Turn): Promise<AgentTools>
  /** Builds the prompt of a new sub-agent. */
  buildPrompt(turn: Turn): Promise<FrozenPrompt>
  /** Prepares the message with the result. A message of the same task is stored once. */
  prepareHandIn(turn: Turn, result: TurnRunResult): TransactionPart
  /** Stores the message of a sub-agent that was ended before it began. Rejects `store/…`. */
  handInUnstarted(task: HandedInTask): Promise<void>
}

export function createDelegatedTurns(deps: DelegationDeps): DelegatedTurns {
  const { store, agentServices, log } = deps
  const { models } = agentServices

  /** The conversation that waits for the result decides about the model. */
  async function parentTurn(turn: Turn): Promise<ModelTurn> {
    const { sessionKey, sessionId, source } = delegationIn(turn)
    const settings = await store.run(() => readSessionSettings(sessionKey))
    return { settings, sessionId: brand<SessionId>(sessionId), event: { ...turn.event, source } }
  }

  return {
    work(turn, info) {
      const delegation = delegationIn(turn)
      const { outputSchema } = delegation
      const id = turn.event.task?.id ?? ''
      return { id, parent: parentOf(info, delegation), outputSchema }
    },
    async model(turn) {
      const chosen = (await models.subagentModel()) ?? (await models.model(await parentTurn(turn)))
      return { ...chosen, model: delegationIn(turn).model ?? chosen.model }
    },
    tools: async (turn) => onlyTools(new Set(delegationIn(turn).tools), await agentServices.tools.forTurn(turn)),
    async buildPrompt(turn) {
      const { sessionId, tools: toolNames } = delegationIn(turn)
      const parentPrompt = await store.run(() => readFrozenPrompt(sessionId))
      const text = subagentSystemPrompt(agentServices.environments.cwd(), parentPrompt?.text ?? '')
      return { text, toolNames }
    },
    prepareHandIn(turn, result) {
      deps.failpoint?.('delegation:before-hand-in')
      const delegation = delegationIn(turn)
      const task = { id: turn.event.task?.id ?? '', delegation, authority: turn.authority }
      const prepared = prepareHandIn(deps, task, outcomeOf(result, delegation))
      return {
        write: (now) => enlist(prepared, now),
        committed() {
          // What it has left running ends with it.
          agentServices.tools
            .openSubagentWorkspace(turn.sessionId, turn.id, turn)
            .close()
            .catch((error: unknown) =>
              log.warn(
                { event: 'subagent.close_failed', session: turn.sessionId, err: error },
                `cannot close the workspace of a sub-agent: ${messageOf(error)}`,
              ),
            )
        },
      }
    },
    async handInUnstarted(task) {
      const prepared = prepareHandIn(deps, task, { status: 'interrupted', summary: 'It was stopped before it began.' })
      await store.commit(prepared, deps.clock)
    },
  }
}

/** The turn that has started a sub-agent, as plugins know it. */
export function parentOf(
  { subagent: _subagent, rootTurnId: _root, ...info }: TurnInfo,
  { sessionId, sessionKey, turnId, source }: BackgroundDelegation,
): TurnInfo {
  const { platform, chatType, userId: senderId = '' } = source
  const place = { platform, route: `${platform}_${chatType}`, senderId }
  return { ...info, ...place, sessionId, sessionKey, turnId, taskId: sessionId, parentSessionId: '' }
}

function delegationIn({ event }: Turn): BackgroundDelegation {
  const delegation = event.task?.delegation
  if (delegation === undefined) throw new Error('the turn belongs to no sub-agent')
  return delegation
}
