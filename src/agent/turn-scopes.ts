/**
 * In which turn a caller is: what a plugin asks for while it is called within one belongs to that turn, to its
 * conversation, its places and the people in it.
 */
import type { ToolCall } from '../message/transcript.ts'
import type { Middleware, Scope } from '../middleware/contract.ts'
import type { TurnFacts } from './points.ts'
import type { ToolContext } from './tool.ts'
import type { ApproveTool } from './tool-approval.ts'
import type { ToolBox } from './tool-batch.ts'

export interface TurnAround {
  readonly turn: TurnFacts
  readonly tools: ToolBox
  readonly approve: ApproveTool
  readonly signal: AbortSignal
  contextFor(call: ToolCall): ToolContext
}

export interface TurnScopes {
  /** The current scope is that of a turn, or of the part of one that a sub-agent works on. */
  begin(turn: TurnAround): void
  /** The innermost one around the caller; undefined outside of turns, and of one that has ended. */
  current(): TurnAround | undefined
}

export function createTurnScopes({ currentScope }: Pick<Middleware, 'currentScope'>): TurnScopes {
  const turns = new WeakMap<Scope, TurnAround>()
  return {
    begin(turn) {
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
