/**
 * Messages about commands that run in the background.
 */
import type { TransactionPart } from '../../store/query.ts'
import type { ProcessEntry } from './environment.ts'

/** Messages about background commands. */
export interface CommandWatches {
  /** The write belongs to the result of the call that has started the command. A refusal is for the model. */
  start(
    entry: ProcessEntry,
    wanted: WatchedNews,
  ): Awaitable<{ readonly write: TransactionPart } | { readonly refusal: string }>
  /**
   * The caller is about to tell the agent about this command. `told` is the write of a result that contains its end;
   * `release` when the result does not. Undefined for a command that is not watched.
   */
  claim(entry: ProcessEntry): Promise<{ told(): TransactionPart; release(): void } | undefined>
}

export interface WatchedNews {
  readonly onComplete: boolean
  /** Texts in a line of the output. */
  readonly patterns: readonly string[]
}

type Awaitable<Value> = Value | Promise<Value>
