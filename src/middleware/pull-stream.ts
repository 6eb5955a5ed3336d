/**
 * The innermost step of a model call: pulls the provider's stream to its end, chunk by chunk, nothing ahead.
 */

import type { CallRun } from './call-run.ts'
import type { CancellationScope } from './cancellation-scope.ts'
import type { ChunkCollector, Fields, ManagedModelCall } from './contract.ts'
import { closeWithGracePeriod } from './grace-period.ts'
import type { StreamOpener } from './stream-chain.ts'
import type { ChunkIterator } from './stream-next-handle.ts'

export type AnyModelCall = ManagedModelCall<Fields, unknown, unknown>

/** What is known of a stream while it runs, for the end event. */
export interface StreamProgress {
  /** µs since 1970; undefined before the first chunk. */
  firstChunkUs: number | undefined
  /** What the collector makes of a stream that broke off. */
  partial: unknown
}

/** Without stream intercepts: the stream itself knows the response. */
export async function pullProvider(
  run: CallRun,
  call: AnyModelCall,
  request: Fields,
  branch: CancellationScope,
  progress: StreamProgress,
): Promise<unknown> {
  run.throwIfDetached()
  call.onStreamStart?.()
  const chunks = call.stream(request, branch.signal)
  let open = true
  try {
    for (;;) {
      const step = await chunks.next()
      if (step.done === true) {
        open = false
        return step.value
      }
      progress.firstChunkUs ??= run.context.now()
      call.onChunk?.(step.value)
    }
  } catch (error) {
    run.context.errorOrigins.record(error, undefined)
    throw error
  } finally {
    // Also after it threw: closing a generator that has ended does nothing.
    if (open) await closeWithGracePeriod(chunks, `the stream of ${run.name}`, run.context)
  }
}

/** With stream intercepts: what they let through is collected. The collector finishes once, however it ends. */
export async function pullIntercepted(
  run: CallRun,
  call: AnyModelCall,
  request: Fields,
  branch: CancellationScope,
  progress: StreamProgress,
  openStream: StreamOpener,
): Promise<unknown> {
  run.throwIfDetached()
  call.onStreamStart?.()
  const collector = call.collector()
  let chunks: ChunkIterator | undefined
  let complete = false
  try {
    chunks = await openStream(request, branch)
    for (;;) {
      const step = await chunks.next()
      if (step.done === true) break
      progress.firstChunkUs ??= run.context.now()
      collector.add(step.value)
      call.onChunk?.(step.value)
    }
    complete = true
  } catch (error) {
    run.context.errorOrigins.record(error, undefined)
    throw error
  } finally {
    if (!complete) progress.partial = partialResultOf(collector)
    if (!complete && chunks !== undefined) await closeWithGracePeriod(chunks, `the stream of ${run.name}`, run.context)
  }
  return collector.finish()
}

function partialResultOf(collector: ChunkCollector<unknown, unknown>): unknown {
  try {
    return collector.finish()
  } catch {
    // Half an answer need not make sense; the failure that broke it off is what the call rejects with.
    return null
  }
}
