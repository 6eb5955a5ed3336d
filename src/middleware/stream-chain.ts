/**
 * Stream intercepts, which wrap the chunks of a provider without reading ahead. Every step runs in the context of the call.
 * All streams are closed when the outermost one ends.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { HermesError } from '../lib/errors.ts'
import type { CallRun } from './call-run.ts'
import { type AnyModelCall, closeWithGracePeriod, type StreamProgress } from './calls.ts'
import type { CancellationScope } from './cancellation.ts'
import type { Awaitable, Fields, ModelCallView, Next } from './contract.ts'
import { describeOrigin } from './failures.ts'
import type { ChunkCollector } from './managed-call.ts'
import { type ChunkIterator, doneResult, StreamNextHandle } from './next-handle.ts'
import { ignoreRejection } from './promises.ts'
import type { Entries, Entry } from './registry.ts'
import type { ScopeNode } from './scope.ts'
import { StreamReplay } from './stream-replay.ts'

export type StreamIntercept = (
  view: ModelCallView,
  next: Next<Fields, AsyncIterable<unknown>>,
) => Awaitable<AsyncIterable<unknown>>

type RunInContext = <Value>(step: () => Value) => Value

export interface StreamChain {
  readonly run: CallRun
  readonly entries: Entries<StreamIntercept>
  view(request: Fields, branch: CancellationScope): ModelCallView
  /** The stream of the provider. */
  provider(request: Fields, signal: AbortSignal): ChunkIterator
  /** The scope of the call. */
  readonly scope: ScopeNode
  /** Runs a step in the context of the call. */
  readonly inCall: RunInContext
}

/**
 * Reads the stream that the intercepts produce to its end, chunk by chunk. The collector builds the response; it finishes
 * once, however the stream ends.
 */
export async function pullIntercepted(
  chain: StreamChain,
  call: AnyModelCall,
  request: Fields,
  branch: CancellationScope,
  progress: StreamProgress,
): Promise<unknown> {
  const { run } = chain
  run.throwIfDetached()
  call.onStreamStart?.()
  const collector = call.collector()
  let chunks: ChunkIterator | undefined
  let complete = false
  try {
    chunks = await openStreamAt(chain, 0, request, branch)
    for (let index = 0; ; index++) {
      const step = await chunks.next()
      if (step.done === true) break
      run.throwIfDetached()
      progress.firstChunkUs ??= run.context.scopes.now()
      progress.publishChunk?.(index)
      collector.add(step.value)
      call.onChunk?.(step.value)
    }
    complete = true
  } catch (error) {
    run.context.errorOrigins.record(error, undefined)
    throw error
  } finally {
    if (!complete) progress.partial = partialResultOf(collector)
    if (!complete && chunks !== undefined) await closeWithGracePeriod(chunks, run.name, run.context)
  }
  return collector.finish()
}

function partialResultOf(collector: ChunkCollector<unknown, unknown>): unknown {
  try {
    return collector.finish()
  } catch {
    // An incomplete response may be unreadable; the call rejects with the failure that interrupted it.
    return null
  }
}

async function openStreamAt(
  chain: StreamChain,
  depth: number,
  request: Fields,
  branch: CancellationScope,
): Promise<ChunkIterator> {
  const entry = chain.entries[depth]
  const inContext = contextOfNext(chain)
  if (entry === undefined)
    return recordFailures(chain.run, bindContext(inContext, chain.provider(request, branch.signal)))
  return openIntercepted(chain, inContext, entry, depth, request, branch)
}

/** The context in which `next` is called, such as a scope that an intercept opened; that of the call if it is outside of it. */
function contextOfNext({ run, scope, inCall }: StreamChain): RunInContext {
  const current = run.context.scopes.storage.getStore()
  return current?.isWithin(scope) === true ? AsyncLocalStorage.snapshot() : inCall
}

async function openIntercepted(
  chain: StreamChain,
  inContext: RunInContext,
  entry: Entry<StreamIntercept>,
  depth: number,
  request: Fields,
  branch: CancellationScope,
): Promise<ChunkIterator> {
  const { run } = chain
  const handle = new StreamNextHandle(run, entry, branch, (replacement, streamBranch) =>
    openStreamAt(chain, depth + 1, replacement ?? request, streamBranch),
  )
  const replay = entry.failsOpen ? new StreamReplay() : undefined
  const next = (replacement?: Fields): Promise<AsyncIterable<unknown>> => {
    const opening = handle
      .next(replacement)
      .then((inner) => toAsyncIterable(replay === undefined ? inner : replay.record(inner)))
    ignoreRejection(opening)
    return opening
  }
  const skip = async (error: unknown): Promise<ChunkIterator> => {
    run.context.errorOrigins.record(error, entry)
    if (replay === undefined || !replay.canReplay) throw error
    run.throwIfAborted(error)
    run.context.failures.report(entry, 'model_stream', error, 'the stream continues without it')
    return replay.replay() ?? handle.next()
  }
  let current: ChunkIterator
  try {
    const stream = await inContext(() => entry.callback(chain.view(request, branch), next))
    current = bindContext(inContext, iteratorOf(stream, entry))
  } catch (error) {
    try {
      current = await skip(error)
    } catch (cause) {
      await handle.revoke()
      throw cause
    }
  }
  let open = true
  const close = async () => {
    open = false
    await handle.revoke()
  }
  const pull = async (): Promise<IteratorResult<unknown, unknown>> => {
    if (!open) return doneResult
    try {
      const step = await current.next()
      if (step.done === true) await close()
      else replay?.markEmitted()
      return step
    } catch (error) {
      try {
        current = await skip(error)
      } catch (cause) {
        await close()
        throw cause
      }
      return pull()
    }
  }
  return {
    next: pull,
    async return() {
      if (open) {
        open = false
        await closeWithGracePeriod(current, entry.name, run.context)
        await handle.revoke()
      }
      return doneResult
    },
  }
}

function bindContext(inContext: RunInContext, chunks: ChunkIterator): ChunkIterator {
  return {
    next: () => inContext(() => chunks.next()),
    async return() {
      await inContext(() => chunks.return?.())
      return doneResult
    },
  }
}

/** Records failures of the provider, so that no intercept can suppress an abort. */
function recordFailures(run: CallRun, chunks: ChunkIterator): ChunkIterator {
  return {
    ...chunks,
    async next() {
      try {
        return await chunks.next()
      } catch (error) {
        run.recordFailure(error)
        run.context.errorOrigins.record(error, undefined)
        throw error
      }
    },
  }
}

function toAsyncIterable(chunks: ChunkIterator): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => chunks }
}

function iteratorOf(stream: unknown, entry: Entry<unknown>): ChunkIterator {
  if (typeof stream === 'object' && stream !== null && isAsyncIterable(stream)) return stream[Symbol.asyncIterator]()
  throw new HermesError(
    'middleware/bad-return',
    `The stream intercept ${describeOrigin(entry)} did not return an async iterable.`,
  )
}

function isAsyncIterable(stream: object): stream is AsyncIterable<unknown, unknown, undefined> {
  return Symbol.asyncIterator in stream && typeof stream[Symbol.asyncIterator] === 'function'
}
