/**
 * The interfaces through which the agent loop persists and publishes its progress. `src/flows/turn/` implements them.
 */
import type { AssistantMessage, ImagePart, ToolCall, ToolMode, Usage } from '../../message/transcript.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { ModelTrouble } from '../models/request-model.ts'

export interface Journal {
  /**
   * Persists a response with tool calls before the first of them runs. Rejects `store/fenced` when the turn was superseded.
   * `isFinalText`: no plugin may change the text any more, so it can be shown.
   */
  recordAssistantMessage(message: AssistantMessage, usage: Usage, isFinalText: boolean): Promise<void>
  /** Whether the call was started before a restart and has an effect, so that it must not run again. */
  wasStarted(call: ToolCall): Promise<boolean>
  /**
   * Called before a tool runs, and again when middleware changes a call without an effect into one with an effect.
   * 'unknown': the call was started before a crash and has an effect, so it must not run again.
   * Rejects `store/fenced` when the turn was superseded.
   */
  recordToolStart(call: ToolCall, mode: ToolMode): Promise<'run' | 'unknown'>
  /** Stores the result at the ordinal of its call, and `write` in the same transaction. `images` are shown with it. `line` is what people read of the call. After the end of the turn the result is kept for inspection only, and this rejects `store/fenced`. */
  recordToolResult(
    call: ToolCall,
    result: string,
    status: 'done' | 'interrupted',
    write?: TransactionPart,
    images?: readonly ImagePart[],
    line?: ToolCallLine,
  ): Promise<void>
}

/** What people read of a call that has ended. Its texts are whole and may hold secrets. */
export interface ToolCallLine {
  readonly ok: boolean
  readonly label: string
  readonly summary: string
}

/** Progress callbacks for the live view. They must neither throw nor block. */
export interface ProgressListener {
  /** Receives the text of the current response so far. `isProvisional`: a plugin may still replace it. */
  onText(text: string, isProvisional: boolean): void
  /** The label and the summary are whole and may hold secrets. */
  onToolStart(call: ToolCall, label: string): void
  onToolEnd(call: ToolCall, ok: boolean, summary: string): void
  /** Called at the start of an iteration. Counts from 1 and continues after a resume. `tools` are those of the previous iteration. */
  onIteration(iteration: number, tools: readonly { readonly name: string; readonly result: string }[]): void
  /** Called at the first failure of a model request that is retried. */
  onModelTrouble(): ModelTrouble
}
