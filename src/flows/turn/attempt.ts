/**
 * What the steps of a turn share, and what a step is.
 */
import type { Logger } from '../../lib/log.ts'
import type { Usage } from '../../message/transcript.ts'
import type { RunningTurn } from '../../sessions/running-turns.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { FinishedTurn, TurnWrites } from './journal.ts'
import type { TurnProgress, TurnRunResult } from './output.ts'

/** One attempt of a turn, from its claim to its end. */
export interface TurnAttempt {
  /** A compression may continue the conversation in a session of its own. */
  turn: Turn
  /** What the agent writes while it works; belongs to the session of `turn`. */
  journal: TurnWrites
  /** What sub-agents have used that no response has reported. */
  unreported: Usage
  /** The name of the step that runs. */
  step: string
  readonly running: RunningTurn
  readonly progress: TurnProgress
  readonly log: Logger
}

/** A part of the way to the answer. It adds what it finds out to what the steps before it have found out. */
export interface TurnStep<Known, Added> {
  readonly name: string
  run(attempt: TurnAttempt, known: Known): Promise<Added>
}

/** How an attempt ends that has no answer. */
export interface TurnEnding {
  readonly name: string
  /** Undefined where this is not how it ends; 'postponed' when it is stored that the turn continues later. */
  end(attempt: TurnAttempt, error: unknown): Promise<TurnRunResult | 'postponed' | undefined>
}

/** What is due when the end of a turn is stored. */
export interface TurnAftermath {
  readonly name: string
  run(attempt: TurnAttempt, result: TurnRunResult, finished: FinishedTurn): Promise<void> | void
}
