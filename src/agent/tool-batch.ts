/**
 * Runs the tools that one model answer asked for: together when the rule allows it, results in the order of the calls.
 */
import { createHash } from 'node:crypto'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { ToolCall, ToolMessage } from '../message/transcript.ts'
import type { AgentWatcher, Journal } from './journal.ts'
import type { ToolSchema } from './provider.ts'
import type { ToolContext, ToolMode } from './tool.ts'

/** The tools of a run, as the loop needs them; the registry in `tools/` implements it. */
export interface ToolBox {
  /** Byte-stable: sorted by name. */
  schemas(): readonly ToolSchema[]
  /** Reads the arguments of a call. Never throws. */
  prepare(call: ToolCall): PreparedCall
  /** The rule of contract §4.2: whether these may run at the same time. */
  mayRunTogether(calls: readonly ToolCall[]): boolean
}

export type PreparedCall =
  | {
      readonly kind: 'ready'
      readonly mode: ToolMode
      readonly label: string
      run(context: ToolContext): Promise<string>
    }
  /** `error` tells the model what was expected and what was found. */
  | { readonly kind: 'invalid'; readonly error: string }

export interface ToolBatchDeps {
  readonly tools: ToolBox
  readonly journal: Journal
  readonly watcher: AgentWatcher
  readonly log: Logger
  contextFor(call: ToolCall): ToolContext
  /** The managed call around a tool. */
  manage(call: ToolCall, handler: () => Promise<string>): Promise<string>
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

const maxParallel = 8

/** Every call gets a result; only a fenced journal or an aborted signal makes this reject. */
export async function runToolBatch(
  deps: ToolBatchDeps,
  calls: readonly ToolCall[],
  signal: AbortSignal,
): Promise<ToolMessage[]> {
  const width = deps.tools.mayRunTogether(calls) ? maxParallel : 1
  const results: ToolMessage[] = []
  let next = 0
  const lane = async () => {
    for (let index = next++; index < calls.length; index = next++) {
      const call = calls[index]
      if (call === undefined) return
      signal.throwIfAborted()
      results[index] = { role: 'tool', toolCallId: call.id, name: call.name, content: await runTool(deps, call) }
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, calls.length) }, lane))
  return results
}

async function runTool(deps: ToolBatchDeps, call: ToolCall): Promise<string> {
  const { journal, watcher, log, probe } = deps
  const prepared = deps.tools.prepare(call)
  if (prepared.kind === 'invalid') {
    const refusal = errorResult(prepared.error)
    await journal.toolEnded(call, refusal, 'done')
    watcher.toolEnded(call, false, prepared.error)
    return refusal
  }
  if ((await journal.toolStarted(call, prepared.mode)) === 'unknown') {
    const unknown = errorResult(interruptedText)
    await journal.toolEnded(call, unknown, 'interrupted')
    return unknown
  }
  probe('tool:started')
  watcher.toolStarted(call, prepared.label)
  const { result, ok } = await attempt(deps, call, () => prepared.run(deps.contextFor(call)))
  probe('tool:effect-done')
  await journal.toolEnded(call, result, 'done')
  probe('tool:recorded')
  log.debug({ tool: call.name, ok }, 'tool ended')
  watcher.toolEnded(call, ok, summaryOf(result))
  return result
}

async function attempt(
  deps: ToolBatchDeps,
  call: ToolCall,
  run: () => Promise<string>,
): Promise<{ result: string; ok: boolean }> {
  try {
    const result = await deps.manage(call, run)
    return { result, ok: !result.startsWith('{"error"') }
  } catch (error) {
    deps.log.warn({ tool: call.name, error }, `a tool failed: ${messageOf(error)}`)
    return { result: errorResult(messageOf(error)), ok: false }
  }
}

const interruptedText =
  'Interrupted, outcome unknown: the gateway stopped while this ran, and it was not run again. Find out what it did before you repeat it.'

function errorResult(text: string): string {
  return JSON.stringify({ error: text.slice(0, 2_048).toWellFormed() })
}

function summaryOf(result: string): string {
  return result.length <= 200 ? result : `${result.slice(0, 200).toWellFormed()}…`
}

/** Recognises a repeated action; not a secret. */
export function hashOfCall(call: ToolCall): string {
  return createHash('sha256').update(`${call.name}\n${call.arguments}`).digest('hex')
}
