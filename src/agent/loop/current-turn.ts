/**
 * In which turn a caller is: what a plugin asks for while it is called within one belongs to that turn, to its
 * conversation, its places and the people in it.
 */
import type { ToolCall } from '../../message/transcript.ts'
import type { Middleware, Scope } from '../../middleware/contract.ts'
import type { TurnInfo } from '../agent-hooks.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { ApproveTool } from './tool-approval.ts'
import type { AgentTools } from './tool-batch.ts'

export interface CurrentTurn {
  readonly turn: TurnInfo
  readonly tools: AgentTools
  readonly approve: ApproveTool
  readonly signal: AbortSignal
  toolContextFor(call: ToolCall): ToolContext
}

export interface CurrentTurnStore {
  /** The current scope is that of a turn, or of the part of one that a sub-agent works on. */
  enter(turn: CurrentTurn): void
  /** The innermost one around the caller; undefined outside of turns, and of one that has ended. */
  current(): CurrentTurn | undefined
}

export function createCurrentTurnStore({ currentScope }: Pick<Middleware, 'currentScope'>): CurrentTurnStore {
  const turns = new WeakMap<Scope, CurrentTurn>()
  return {
    enter(turn) {
      turns.set(currentScope(), turn)
    },
    current() {
      for (let scope: Scope | undefined = currentScope(); scope !== undefined; scope = scope.parent) {
        const turn = turns.get(scope)
        if (turn !== undefined) return scope.closed ? undefined : turn
      }
      return undefined
    },
  }
}
