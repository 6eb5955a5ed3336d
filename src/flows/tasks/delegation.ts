/**
 * Sub-agents in the background, as turns see them. Their code is loaded with the first of them.
 */
import { lazy } from '../../lib/lazy.ts'
import { hasWaitingUser } from '../../message/event.ts'
import type { Delegation } from '../turn/steps.ts'
import type { BackgroundSubagentsDeps } from './background-subagents.ts'
import type { DelegatedTurns, DelegatedTurnsDeps } from './delegated-turns.ts'

export interface DelegationDeps extends DelegatedTurnsDeps {
  readonly settings: DelegatedTurnsDeps['settings'] & BackgroundSubagentsDeps['settings']
  /** Undefined in a process that does not wait for what goes on in the background. */
  readonly tasks: BackgroundSubagentsDeps['tasks'] | undefined
}

export interface BackgroundDelegations extends Delegation {
  turns(): Promise<DelegatedTurns>
}

export function createDelegation(deps: DelegationDeps): BackgroundDelegations {
  const { tasks, settings, failpoint } = deps
  const turns = lazy(async () => (await import('./delegated-turns.ts')).createDelegatedTurns(deps))
  const starter =
    tasks &&
    lazy(async () =>
      (await import('./background-subagents.ts')).createBackgroundSubagents({ tasks, settings, failpoint }),
    )
  return {
    turns,
    role: turns,
    starterFor(turn) {
      if (starter === undefined || turn.event.task !== undefined || !hasWaitingUser(turn.event)) return undefined
      return async (call, planned) => await (await starter())(turn, call, planned)
    },
    prepareHandIn: async (turn, result) => (await turns()).prepareHandIn(turn, result),
  }
}
