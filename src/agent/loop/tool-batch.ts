/**
 * Runs the tools that one model answer asked for: together when the rule allows it, results in the order of the calls.
 */
import { createHash } from 'node:crypto'
import type { ToolCall, ToolMessage } from '../../message/transcript.ts'
import type { JsonObject, ToolSchema } from '../models/provider.ts'
import { mapWithConcurrency } from '../tools/parallel.ts'
import type { ToolContext, ToolMode } from '../tools/tool.ts'
import { runToolCall, type ToolCallDeps, type ToolCallResult } from './run-tool-call.ts'
import { settlesWithinGrace } from './settles-within-grace.ts'

/** The tools of a run, as the loop needs them; the registry in `tools/` implements it. */
export interface AgentTools {
  /** Byte-stable: sorted by name. */
  schemas(): readonly ToolSchema[]
  /** Reads the arguments of a call: the model's own text, or what plugins have made of it. Never throws. */
  prepare(call: { readonly name: string; readonly arguments: string | JsonObject }): PreparedToolCall
  /** The rule of contract §4.2: whether these may run at the same time. */
  canRunInParallel(calls: readonly ToolCall[]): boolean
  /** A result that did not come from the tool itself, made fit for the model: secrets out, not too long. */
  sanitizeForModel(result: string): string
}

export type PreparedToolCall =
  | {
      readonly kind: 'ready'
      readonly mode: ToolMode
      readonly label: string
      /** The arguments as JSON has them. */
      readonly jsonArguments: JsonObject
      run(context: ToolContext): Promise<string>
    }
  /** `error` tells the model what was expected and what was found. */
  | { readonly kind: 'invalid'; readonly error: string }

const maxParallelTools = 8

/**
 * Every call gets a result; only a fenced journal or an aborted signal makes this reject. It settles when nothing of it
 * runs any more, so that the next turn meets no tool of this one; only a tool that ignores its signal is left behind.
 */
export function runToolBatch(
  deps: ToolCallDeps,
  calls: readonly ToolCall[],
  signal: AbortSignal,
): Promise<ToolMessage[]> {
  const width = deps.tools.canRunInParallel(calls) ? maxParallelTools : 1
  return mapWithConcurrency(calls, width, async (call) => {
    signal.throwIfAborted()
    return {
      role: 'tool',
      toolCallId: call.id,
      name: call.name,
      content: await runAndRecordToolCall(deps, call, signal),
    }
  })
}

async function runAndRecordToolCall(deps: ToolCallDeps, call: ToolCall, signal: AbortSignal): Promise<string> {
  const { journal, listener, log, failpoint } = deps
  const work = runToolCall(deps, call, signal)
  if (!(await settlesWithinGrace(work, signal))) {
    log.warn({ tool: call.name }, 'a tool ignores that it was stopped; the turn ends without it')
    void recordLateResult(deps, call, work)
    throw signal.reason
  }
  const { result, status, ok, summary } = await work
  failpoint('tool:effect-done')
  await journal.recordToolResult(call, result, status)
  failpoint('tool:recorded')
  log.debug({ tool: call.name, ok }, 'tool ended')
  if (status === 'done') listener.onToolEnd(call, ok, truncateSummary(summary))
  return result
}

/** What it brings at last is evidence: the journal keeps it aside when the turn has ended. */
async function recordLateResult(
  { journal, log }: ToolCallDeps,
  call: ToolCall,
  work: Promise<ToolCallResult>,
): Promise<void> {
  try {
    const { result, status } = await work
    await journal.recordToolResult(call, result, status)
  } catch (error) {
    log.warn({ tool: call.name, error }, 'a tool ended after its turn')
  }
}

function truncateSummary(summary: string): string {
  return summary.length <= 200 ? summary : `${summary.slice(0, 200).toWellFormed()}…`
}

/** Recognises a repeated action; not a secret. */
export function hashToolCall(call: ToolCall): string {
  return createHash('sha256').update(`${call.name}\n${call.arguments}`).digest('hex')
}
