/**
 * Stream intercepts: they wrap the chunks of a provider, lazily. Every step runs in the context of the call, whoever
 * pulls; whatever was opened is closed when the outermost stream ends.
 */
import { HermesError } from '../lib/errors.ts'
import type { CallRun } from './call-run.ts'
import type { CancellationScope } from './cancellation-scope.ts'
import type { Awaitable, Fields, ModelCallView, Next } from './contract.ts'
import { describeOrigin } from './failure-reporter.ts'
import { closeWithGracePeriod } from './grace-period.ts'
import { ignoreRejection } from './promises.ts'
import type { Entries, Entry } from './registry.ts'
import { type ChunkIterator, doneResult, StreamNextHandle } from './stream-next-handle.ts'
import { StreamReplay } from './stream-replay.ts'

export type StreamIntercept = (
  view: ModelCallView,
  next: Next<Fields, AsyncIterable<unknown>>,
) => Awaitable<AsyncIterable<unknown>>

export type StreamOpener = (request: Fields, branch: CancellationScope) => Promise<ChunkIterator>

export interface StreamChain {
  readonly run: CallRun
  readonly entries: Entries<StreamIntercept>
  view(request: Fields, branch: CancellationScope): ModelCallView
  /** The stream of the provider. */
  provider(request: Fields, signal: AbortSignal): ChunkIterator
  /** Runs a step in the context of the call. */
  inCall<Value>(step: () => Value): Value
}

export function createStreamOpener(chain: StreamChain): StreamOpener {
  return (request, branch) => openStreamAt(chain, 0, request, branch)
}

async function openStreamAt(
  chain: StreamChain,
  depth: number,
  request: Fields,
  branch: CancellationScope,
): Promise<ChunkIterator> {
  const entry = chain.entries[depth]
  if (entry === undefined) return recordFailures(chain.run, bindContext(chain, chain.provider(request, branch.signal)))
  return openIntercepted(chain, entry, depth, request, branch)
}

async function openIntercepted(
  chain: StreamChain,
  entry: Entry<StreamIntercept>,
  depth: number,
  request: Fields,
  branch: CancellationScope,
): Promise<ChunkIterator> {
  const { run } = chain
  const what = `the stream of ${describeOrigin(entry)}`
  const handle = new StreamNextHandle(run, entry, branch, (given, way) =>
    openStreamAt(chain, depth + 1, given ?? request, way),
  )
  const replay = entry.failsOpen ? new StreamReplay() : undefined
  const next = (given?: Fields): Promise<AsyncIterable<unknown>> => {
    const opening = handle
      .next(given)
      .then((inner) => toAsyncIterable(replay === undefined ? inner : replay.record(inner)))
    ignoreRejection(opening)
    return opening
  }
  const skip = async (error: unknown): Promise<ChunkIterator> => {
    run.context.errorOrigins.record(error, entry)
    if (replay === undefined || !replay.canReplay) throw error
    run.throwIfAborted(error)
    run.context.failures.report(entry, 'model_stream', error, 'the stream goes on without it')
    return replay.replay() ?? handle.next()
  }
  let current: ChunkIterator
  try {
    const stream = await chain.inCall(() => entry.callback(chain.view(request, branch), next))
    current = bindContext(chain, iteratorOf(stream, entry))
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
        await closeWithGracePeriod(current, what, run.context)
        await handle.revoke()
      }
      return doneResult
    },
  }
}

function bindContext({ inCall }: StreamChain, chunks: ChunkIterator): ChunkIterator {
  return {
    next: () => inCall(() => chunks.next()),
    async return() {
      await inCall(() => chunks.return?.())
      return doneResult
    },
  }
}

/** The run is told of a failure of the provider, so that no intercept swallows an abort. */
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
    `The stream intercept ${describeOrigin(entry)} returned nothing to iterate over.`,
  )
}

function isAsyncIterable(stream: object): stream is AsyncIterable<unknown, unknown, undefined> {
  return Symbol.asyncIterator in stream && typeof stream[Symbol.asyncIterator] === 'function'
}
