/**
 * The input and the result of one turn, for the agent and for its sub-agents.
 */
import type { ToolCall } from '../../message/transcript.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { LoopDeps, LoopInput, LoopResult } from './loop.ts'

export type AgentDeps = LoopDeps

export interface AgentTurnInput extends LoopInput {
  /** The text that the user wrote. */
  readonly userMessage: string
  readonly isFirstTurn: boolean
  /** Opens a separate workspace for the tools of a sub-agent. Without it they use the workspace of the turn. */
  openSubagentWorkspace?(sessionId: string, turnId: string): SubagentWorkspace
  /** The system prompt of the session was created for this turn, and the turn was not interrupted before. */
  readonly startsSession: boolean
}

export interface SubagentWorkspace {
  toolContextFor(call: ToolCall, signal: AbortSignal): ToolContext
  /** Stops everything that still runs in the workspace. */
  close(): Promise<void>
}

export type AgentResult = Omit<LoopResult, 'messages'>

/** Runs a turn of the agent or of one of its sub-agents, within the current scope. */
export type RunAgentTurn = (deps: AgentDeps, input: AgentTurnInput) => Promise<AgentResult>
