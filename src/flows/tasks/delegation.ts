/**
 * Sub-agents in the background, as turns see them. Their code is loaded with the first of them.
 */
import { lazy } from '../../lib/cache.ts'
import type { Delegation } from '../turn/steps.ts'
import type { DelegatedTurns } from './delegated-turns.ts'
import type { DelegationDeps } from './hand-in.ts'

export interface BackgroundDelegations extends Delegation {
  turns(): Promise<DelegatedTurns>
}

export function createDelegation(deps: DelegationDeps): BackgroundDelegations {
  const { tasks } = deps
  const turns = lazy(async () => (await import('./delegated-turns.ts')).createDelegatedTurns(deps))
  const starter =
    tasks && lazy(async () => (await import('./background-subagents.ts')).createBackgroundSubagents(tasks, deps))
  return {
    turns,
    role: turns,
    start: starter && (async (...call) => await (await starter())(...call)),
    prepareHandIn: async (turn, result) => (await turns()).prepareHandIn(turn, result),
  }
}
