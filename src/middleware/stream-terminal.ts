/**
 * The innermost step of a model call: pulls the provider's stream to its end, chunk by chunk, nothing ahead.
 */
import type { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import type { ChunkCollector, Fields, ManagedModelCall } from './contract.ts'
import { closeInTime } from './patience.ts'
import type { StreamIntercepts } from './stream-chain.ts'
import type { Chunks } from './stream-lease.ts'

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
  branch: Branch,
  progress: StreamProgress,
): Promise<unknown> {
  run.throwIfLeft()
  call.onBegin?.()
  const chunks = call.stream(request, branch.signal)
  let open = true
  try {
    for (;;) {
      const step = await chunks.next()
      if (step.done === true) {
        open = false
        return step.value
      }
      progress.firstChunkUs ??= run.room.now()
      call.onChunk?.(step.value)
    }
  } catch (error) {
    run.room.culprits.met(error, undefined)
    throw error
  } finally {
    // Also after it threw: closing a generator that has ended does nothing.
    if (open) await closeInTime(chunks, `the stream of ${run.name}`, run.room)
  }
}

/** With stream intercepts: what they let through is collected. The collector finishes once, however it ends. */
export async function pullIntercepted(
  run: CallRun,
  call: AnyModelCall,
  request: Fields,
  branch: Branch,
  progress: StreamProgress,
  intercepts: StreamIntercepts,
): Promise<unknown> {
  run.throwIfLeft()
  call.onBegin?.()
  const collector = call.collector()
  let chunks: Chunks | undefined
  let complete = false
  try {
    chunks = await intercepts(request, branch)
    for (;;) {
      const step = await chunks.next()
      if (step.done === true) break
      progress.firstChunkUs ??= run.room.now()
      collector.add(step.value)
      call.onChunk?.(step.value)
    }
    complete = true
  } catch (error) {
    run.room.culprits.met(error, undefined)
    throw error
  } finally {
    if (!complete) progress.partial = partOf(collector)
    if (!complete && chunks !== undefined) await closeInTime(chunks, `the stream of ${run.name}`, run.room)
  }
  return collector.finish()
}

function partOf(collector: ChunkCollector<unknown, unknown>): unknown {
  try {
    return collector.finish()
  } catch {
    // Half an answer need not make sense; the failure that broke it off is what the call rejects with.
    return null
  }
}
