/**
 * What the agent loop wants kept while it works. The loop knows nothing of databases; `src/flows/turn/journal.ts` implements this.
 */
import type { AssistantMessage, ToolCall, Usage } from '../../message/transcript.ts'
import type { ToolMode } from '../tools/tool.ts'

export interface Journal {
  /** The model answered with tool calls: on disk before the first of them runs. Rejects `store/fenced` when overtaken. */
  recordAssistantMessage(message: AssistantMessage, usage: Usage): Promise<void>
  /** Whether an earlier life of this turn has begun the call and it has an effect, so that it must not run again. */
  wasStarted(call: ToolCall): Promise<boolean>
  /**
   * A tool is about to run, with these arguments; told once more when they turn into an effect on the way. 'unknown': it was begun before a crash and has an effect, so it must not run again.
   * Rejects `store/fenced` when the turn was overtaken.
   */
  recordToolStart(call: ToolCall, mode: ToolMode): Promise<'run' | 'unknown'>
  /** Its result, at the place the call has in the transcript. A late one is kept aside; then rejects `store/fenced`. */
  recordToolResult(call: ToolCall, result: string, how: 'done' | 'interrupted'): Promise<void>
}

/** What people who watch are shown. Must neither throw nor wait. */
export interface ProgressListener {
  /** The whole text of the turn so far. */
  onText(fullText: string): void
  onToolStart(call: ToolCall, label: string): void
  onToolEnd(call: ToolCall, ok: boolean, summary: string): void
  /** An iteration begins; counts from 1 and goes on after a resume. `tools` are those of the iteration before. */
  onIteration(iteration: number, tools: readonly { readonly name: string; readonly result: string }[]): void
}
