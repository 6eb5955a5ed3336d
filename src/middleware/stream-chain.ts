/**
 * Stream intercepts: they wrap the chunks of a provider, lazily. Every step runs in the context of the call, whoever
 * pulls; whatever was opened is closed when the outermost stream ends.
 */
import { HermesError } from '../lib/errors.ts'
import { overlook } from './awaiting.ts'
import type { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Fields, ModelCallView, Next } from './contract.ts'
import { nameOf } from './failures.ts'
import { closeInTime } from './patience.ts'
import type { Entries, Entry } from './registry.ts'
import { type Chunks, noMoreChunks, StreamLease } from './stream-lease.ts'
import { Replay } from './stream-replay.ts'

export type StreamIntercept = (
  view: ModelCallView,
  next: Next<Fields, AsyncIterable<unknown>>,
) => Awaitable<AsyncIterable<unknown>>

export type StreamIntercepts = (request: Fields, branch: Branch) => Promise<Chunks>

export interface StreamChain {
  readonly run: CallRun
  readonly entries: Entries<StreamIntercept>
  view(request: Fields, branch: Branch): ModelCallView
  /** The stream of the provider. */
  provider(request: Fields, signal: AbortSignal): Chunks
  /** Runs a step in the context of the call. */
  inCall<Value>(step: () => Value): Value
}

export function streamIntercepts(chain: StreamChain): StreamIntercepts {
  return (request, branch) => openAt(chain, 0, request, branch)
}

async function openAt(chain: StreamChain, depth: number, request: Fields, branch: Branch): Promise<Chunks> {
  const entry = chain.entries[depth]
  if (entry === undefined) return heeded(chain.run, inContext(chain, chain.provider(request, branch.signal)))
  return openFrame(chain, entry, depth, request, branch)
}

async function openFrame(
  chain: StreamChain,
  entry: Entry<StreamIntercept>,
  depth: number,
  request: Fields,
  branch: Branch,
): Promise<Chunks> {
  const { run } = chain
  const what = `the stream of ${nameOf(entry)}`
  const lease = new StreamLease(run, entry, branch, (given, way) => openAt(chain, depth + 1, given ?? request, way))
  const replay = entry.failsOpen ? new Replay() : undefined
  const next = (given?: Fields): Promise<AsyncIterable<unknown>> => {
    const opening = lease.next(given).then((inner) => iterable(replay === undefined ? inner : replay.record(inner)))
    overlook(opening)
    return opening
  }
  const skip = async (error: unknown): Promise<Chunks> => {
    run.room.culprits.met(error, entry)
    if (replay === undefined || !replay.possible) throw error
    run.throwIfAborted(error)
    run.room.failures.tell(entry, 'model_stream', error, 'the stream goes on without it')
    return replay.again() ?? lease.next()
  }
  let own: Chunks
  try {
    const stream = await chain.inCall(() => entry.callback(chain.view(request, branch), next))
    own = inContext(chain, iteratorOf(stream, entry))
  } catch (error) {
    try {
      own = await skip(error)
    } catch (cause) {
      await lease.end()
      throw cause
    }
  }
  let open = true
  const close = async () => {
    open = false
    await lease.end()
  }
  const pull = async (): Promise<IteratorResult<unknown, unknown>> => {
    if (!open) return noMoreChunks
    try {
      const step = await own.next()
      if (step.done === true) await close()
      else replay?.isOut()
      return step
    } catch (error) {
      try {
        own = await skip(error)
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
        await closeInTime(own, what, run.room)
        await lease.end()
      }
      return noMoreChunks
    },
  }
}

function inContext({ inCall }: StreamChain, chunks: Chunks): Chunks {
  return {
    next: () => inCall(() => chunks.next()),
    async return() {
      await inCall(() => chunks.return?.())
      return noMoreChunks
    },
  }
}

/** The run is told of a failure of the provider, so that no intercept swallows an abort. */
function heeded(run: CallRun, chunks: Chunks): Chunks {
  return {
    ...chunks,
    async next() {
      try {
        return await chunks.next()
      } catch (error) {
        run.failed(error)
        run.room.culprits.met(error, undefined)
        throw error
      }
    },
  }
}

function iterable(chunks: Chunks): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => chunks }
}

function iteratorOf(stream: unknown, entry: Entry<unknown>): Chunks {
  if (typeof stream === 'object' && stream !== null && isAsyncIterable(stream)) return stream[Symbol.asyncIterator]()
  throw new HermesError(
    'middleware/bad-return',
    `The stream intercept ${nameOf(entry)} returned nothing to iterate over.`,
  )
}

function isAsyncIterable(stream: object): stream is AsyncIterable<unknown, unknown, undefined> {
  return Symbol.asyncIterator in stream && typeof stream[Symbol.asyncIterator] === 'function'
}
