/**
 * The result of a turn or a command.
 */

/** `interrupted`: a newer message ended the turn, and its own turn continues the work. */
export type TurnStatus = 'done' | 'failed' | 'stopped' | 'interrupted'

/** Why the model ended before the end of its answer: the limit of its output, or the filter of its vendor. */
export type CutOffReason = 'length' | 'content_filter'

/** The result of an event once its turn or command has ended. */
export interface TurnResult {
  readonly status: TurnStatus
  /** The reply, or the notice that explains a failure. */
  readonly text: string
  readonly sessionId: string
  readonly model: string
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    /** US dollars, of the tokens whose price is known. */
    readonly cost?: number | undefined
  }
  /** Only with `failed`: the code of the error catalogue. */
  readonly errorCode?: string | undefined
  /** Only with `done`, if the text is not complete. */
  readonly cutOff?: CutOffReason | undefined
  /** Only with `interrupted`: the number of the newer message. */
  readonly interruptedBy?: number | undefined
}
