/**
 * Runs the tools that one model answer asked for: together when the rule allows it, results in the order of the calls.
 */
import { createHash } from 'node:crypto'
import type { ToolCall, ToolMessage } from '../message/transcript.ts'
import { endsInTime } from './let-go.ts'
import { runManagedTool, type ToolDeps, type ToolOutcome } from './managed-tool.ts'
import type { JsonObject, ToolSchema } from './provider.ts'
import type { ToolContext, ToolMode } from './tool.ts'
import { runBounded } from './tools/parallel.ts'

/** The tools of a run, as the loop needs them; the registry in `tools/` implements it. */
export interface ToolBox {
  /** Byte-stable: sorted by name. */
  schemas(): readonly ToolSchema[]
  /** Reads the arguments of a call: the model's own text, or what plugins have made of it. Never throws. */
  prepare(call: { readonly name: string; readonly arguments: string | JsonObject }): PreparedCall
  /** The rule of contract §4.2: whether these may run at the same time. */
  mayRunTogether(calls: readonly ToolCall[]): boolean
  /** A result that did not come from the tool itself, made fit for the model: secrets out, not too long. */
  presentable(result: string): string
}

export type PreparedCall =
  | {
      readonly kind: 'ready'
      readonly mode: ToolMode
      readonly label: string
      /** The arguments as JSON has them. */
      readonly given: JsonObject
      run(context: ToolContext): Promise<string>
    }
  /** `error` tells the model what was expected and what was found. */
  | { readonly kind: 'invalid'; readonly error: string }

const maxParallel = 8

/**
 * Every call gets a result; only a fenced journal or an aborted signal makes this reject. It settles when nothing of it
 * runs any more, so that the next turn meets no tool of this one; only a tool that ignores its signal is left behind.
 */
export function runToolBatch(deps: ToolDeps, calls: readonly ToolCall[], signal: AbortSignal): Promise<ToolMessage[]> {
  const width = deps.tools.mayRunTogether(calls) ? maxParallel : 1
  return runBounded(calls, width, async (call) => {
    signal.throwIfAborted()
    return { role: 'tool', toolCallId: call.id, name: call.name, content: await runTool(deps, call, signal) }
  })
}

async function runTool(deps: ToolDeps, call: ToolCall, signal: AbortSignal): Promise<string> {
  const { journal, watcher, log, probe } = deps
  const work = runManagedTool(deps, call, signal)
  if (!(await endsInTime(work, signal))) {
    log.warn({ tool: call.name }, 'a tool ignores that it was stopped; the turn ends without it')
    void keepLate(deps, call, work)
    throw signal.reason
  }
  const { result, how, ok, summary } = await work
  probe('tool:effect-done')
  await journal.toolEnded(call, result, how)
  probe('tool:recorded')
  log.debug({ tool: call.name, ok }, 'tool ended')
  if (how === 'done') watcher.toolEnded(call, ok, cut(summary))
  return result
}

/** What it brings at last is evidence: the journal keeps it aside when the turn has ended. */
async function keepLate({ journal, log }: ToolDeps, call: ToolCall, work: Promise<ToolOutcome>): Promise<void> {
  try {
    const { result, how } = await work
    await journal.toolEnded(call, result, how)
  } catch (error) {
    log.warn({ tool: call.name, error }, 'a tool ended after its turn')
  }
}

function cut(summary: string): string {
  return summary.length <= 200 ? summary : `${summary.slice(0, 200).toWellFormed()}…`
}

/** Recognises a repeated action; not a secret. */
export function hashOfCall(call: ToolCall): string {
  return createHash('sha256').update(`${call.name}\n${call.arguments}`).digest('hex')
}
