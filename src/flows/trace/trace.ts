/**
 * Where a message is and how it came there: the steps of one message with their times, for people and programs.
 */
import type { Ending } from '../../message/ending.ts'

/**
 * - `sent`: a person or a program sent it, at the time that the platform tells.
 * - `accepted`: it is on disk.
 * - `waited`: it was or is not processed yet.
 * - `turn`: the agent works on it.
 * - `question`: the turn waits for the answer of a person.
 * - `delivery`: a message of the gateway on its way to the platform.
 * - `note`: anything else that was recorded, such as an edit.
 */
export const stepKinds = [
  'sent',
  'accepted',
  'waited',
  'turn',
  'model',
  'tool',
  'question',
  'delivery',
  'note',
] as const
export type TraceStepKind = (typeof stepKinds)[number]

export interface TraceStep {
  readonly kind: TraceStepKind
  /** The tool, the model, the kind of question; '' where the kind says all. */
  readonly name: string
  /** ms since 1970. */
  readonly at: number
  /** Duration; null for a moment, and for a step that goes on. */
  readonly ms: number | null
  /** `ok`, `failed`, `open` for a step that goes on, or the state that the database has. */
  readonly result: string
  /** One sentence for people, or ''. */
  readonly detail: string
}

export interface Trace {
  readonly message: {
    /** The number of the message in the inbox. */
    readonly seq: number
    readonly platform: string
    readonly account: string
    readonly chatId: string
    readonly userId: string
    readonly sessionKey: string
  }
  readonly turn: {
    readonly id: string
    readonly sessionId: string
    readonly model: string
    readonly provider: string
    readonly state: string
  } | null
  readonly ending: Ending
  /** Why it has ended so, or why it has not ended. */
  readonly reason: string
  /** In the order of their times. */
  readonly steps: readonly TraceStep[]
}
