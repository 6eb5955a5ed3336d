/**
 * Runs the tool calls of one model response, in parallel where that is safe. The results have the order of the calls.
 */
import { createHash } from 'node:crypto'
import { withTimeout } from '../../lib/timers.ts'
import type { ToolCall, ToolMessage } from '../../message/transcript.ts'
import { runToolCall, type ToolCallDeps, type ToolCallResult } from './run-tool-call.ts'

const maxParallelTools = 8

/**
 * Every call gets a result. Rejects only when the journal is fenced or the signal aborts. Settles after all tools have
 * settled, so that no tool of this turn runs during the next one. A tool that ignores its signal is the only exception.
 */
export function runToolBatch(
  deps: ToolCallDeps,
  calls: readonly ToolCall[],
  signal: AbortSignal,
  fork: Fork,
): Promise<ToolMessage[]> {
  const width = calls.length > 1 && deps.tools.canRunInParallel(calls) ? maxParallelTools : 1
  const run = async (call: ToolCall): Promise<ToolMessage> => {
    signal.throwIfAborted()
    const { result: content, images } = await runAndRecordToolCall(deps, call, signal)
    return { role: 'tool', toolCallId: call.id, name: call.name, content, ...(images && { images }) }
  }
  return mapWithConcurrency(calls, width, run, fork)
}

/** Reports that the turn splits into parallel branches. Each of them calls the returned function once, when it ends. */
export type Fork = (branches: number) => () => void

/**
 * Runs `work` for every item, at most `limit` at a time, and returns the results in the order of the items. After a
 * failure it starts no further item, waits for the running ones and throws the first failure.
 */
export async function mapWithConcurrency<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
  fork?: Fork,
): Promise<Result[]> {
  const branches = Math.max(1, Math.min(limit, items.length))
  const branchEnded = branches === 1 ? undefined : fork?.(branches)
  const results: { readonly index: number; readonly result: Result }[] = []
  const failures: { readonly error: unknown }[] = []
  // The workers share one iterator, so that each takes the next item.
  const queue = items.entries()
  const worker = async () => {
    for (const [index, item] of queue) {
      try {
        results.push({ index, result: await work(item, index) })
      } catch (error) {
        failures.push({ error })
      }
      if (failures.length > 0) break
    }
    branchEnded?.()
  }
  await Promise.all(Array.from({ length: branches }, worker))
  const [failure] = failures
  if (failure !== undefined) throw failure.error
  return results.sort((a, b) => a.index - b.index).map(({ result }) => result)
}

/** How long a tool may take to settle after its signal has aborted. */
const gracePeriodMs = 5_000

/** False when the signal aborted and the work did not settle within the grace period. Rejects as the work rejects. */
async function settlesWithinGrace(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const untilAbort = await withTimeout(work, Number.POSITIVE_INFINITY, signal)
  return untilAbort.done || (await withTimeout(work, gracePeriodMs)).done
}

async function runAndRecordToolCall(deps: ToolCallDeps, call: ToolCall, signal: AbortSignal): Promise<ToolCallResult> {
  const { journal, listener, log, failpoint } = deps
  const work = runToolCall(deps, call, signal)
  if (!(await settlesWithinGrace(work, signal))) {
    log.warn(
      { event: 'tool.abort_ignored', tool: call.name, call: call.id },
      'tool ignores its abort signal; the turn ends without it',
    )
    void recordLateResult(deps, call, work)
    throw signal.reason
  }
  const ended = await work
  const { result, status, ok, label, summary, write, images } = ended
  failpoint?.('tool:effect-done')
  await journal.recordToolResult(call, result, status, write, images, { ok, label, summary })
  failpoint?.('tool:recorded')
  log.debug({ event: 'tool.completed', tool: call.name, call: call.id, ok }, 'tool completed')
  if (status === 'done') listener.onToolEnd(call, ok, summary)
  return ended
}

/** Records the result of a tool that completed after its turn, so that it can be inspected. */
async function recordLateResult(
  { journal, log }: ToolCallDeps,
  call: ToolCall,
  work: Promise<ToolCallResult>,
): Promise<void> {
  try {
    const { result, status } = await work
    await journal.recordToolResult(call, result, status)
  } catch (error) {
    log.warn(
      { event: 'tool.completed_late', tool: call.name, call: call.id, err: error },
      'tool completed after its turn',
    )
  }
}

/** Identifies a repeated call. The hash protects no secret. */
export function hashToolCall(call: ToolCall): string {
  return createHash('sha256').update(`${call.name}\n${call.arguments}`).digest('hex')
}
