/**
 * The input and the result of one turn, for the agent and for its sub-agents.
 */

import type { JsonObject } from '../../lib/json.ts'
import type { ToolCall, Usage } from '../../message/transcript.ts'
import type { ModelError } from '../models/provider.ts'
import type { TurnInfo } from '../support/agent-hooks.ts'
import type { SubagentResult, SubagentRole } from '../support/subagent-result.ts'
import type { ConversationPicture, SubagentTask, ToolContext } from '../tools/tool.ts'
import type { AgentDeps, FallbackModel, LoopInput, LoopResult } from './loop.ts'

export interface AgentTurnInput extends LoopInput {
  /** The text that the user wrote. */
  readonly userMessage: string
  readonly isFirstTurn: boolean
  /** Opens a separate workspace for the tools of a sub-agent. Without it they use the workspace of the turn. */
  openSubagentWorkspace?(sessionId: string, turnId: string): SubagentWorkspace
  /**
   * Stores sub-agents that go on after the turn, and resolves with their ids. Absent where no conversation could take their
   * results. Rejects with `DelegationRefused`, or as the inbox.
   */
  readonly startInBackground?:
    | ((call: ToolCall, planned: readonly PlannedSubagent[]) => Promise<readonly string[]>)
    | undefined
  /** The model of the turn now, which another one may have replaced. Default: `provider` with the model of `turn`. */
  currentModel?(): FallbackModel
  /** Another model for a sub-agent whose own has failed; null when there is none. Must not reject. */
  readonly fallBackSubagent?:
    | ((failed: FallbackModel, failure: ModelError) => Promise<FallbackModel | null>)
    | undefined
  /** How many sub-agents the turn has started; shared with the sub-agents of all depths. Absent in a turn of a conversation. */
  readonly startedSubagents?: { count: number }
  /** Called when a turn rejects, with the token usage of its sub-agents that no response has reported. */
  onUnreportedUsage?(usage: Usage): void
  /** The system prompt of the session was created for this turn, and the turn was not interrupted before. */
  readonly startsSession: boolean
  /** Present for the turn of a sub-agent; its `turn` then has `subagent`. */
  readonly subagent?: SubagentWork | undefined
}

/** A task that was checked, with what it may use. */
export interface PlannedSubagent {
  readonly task: SubagentTask
  readonly role: SubagentRole
  readonly depth: number
  /** The names of its tools. */
  readonly tools: ReadonlySet<string>
  /** What it does not get of what was asked for, for the model; '' for nothing. */
  readonly note: string
  readonly pictures: readonly ConversationPicture[]
}

export interface SubagentWork {
  /** By which people see and stop it: `sub_HHMMSS_<hex>`, or the id of a background task. */
  readonly id: string
  readonly parent: TurnInfo
  readonly outputSchema?: JsonObject | undefined
}

export interface SubagentWorkspace {
  toolContextFor(call: ToolCall, signal: AbortSignal): ToolContext
  /** Stops everything that still runs in the workspace. */
  close(): Promise<void>
}

export type AgentResult = Omit<LoopResult, 'messages'> & {
  /** Only of a sub-agent. */
  readonly subagent?: SubagentResult
}

/** Runs a turn of the agent or of one of its sub-agents, within the current scope. */
export type RunAgentTurn = (deps: AgentDeps, input: AgentTurnInput) => Promise<AgentResult>

/** Gives the tools of a turn the means to delegate. */
export type AttachSubagents = (deps: AgentDeps, input: AgentTurnInput) => AgentTurnInput
