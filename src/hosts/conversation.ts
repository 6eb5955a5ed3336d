/**
 * Asking a running host: loads and calls go out, answers and requests come back, and what takes too long is asked to end.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../lib/errors.ts'
import type { HostCall, HostLimits, HostModule, HostOptions, HostResult, LoadedModule } from './contract.ts'
import { type Cause, failureAtEnd } from './endings.ts'
import { failureOf } from './failure.ts'
import {
  type Answer,
  answerFrame,
  argumentsOf,
  callFrame,
  callResult,
  cancelFrame,
  entryOf,
  loadFrame,
  loadResult,
  refusalFrame,
} from './frames.ts'
import { type CallInFlight, createFlights, type InFlight, type LoadInFlight } from './in-flight.ts'
import { createReferences } from './references.ts'
import type { FromHost } from './wire.ts'

export type HostFrame = Extract<FromHost, { id: number }>

export interface ConversationOptions extends Pick<HostOptions, 'log' | 'onRequest' | 'onOwnRequest'> {
  readonly limits: HostLimits
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
  send(line: string): void
  /** Bytes that were sent and not taken yet. */
  unread(): number
  /** It asks and does not read what it is answered; nothing helps but to end the process. */
  onDeaf(): void
  /** It did not end when it was asked to; nothing helps but to end the process. */
  onStuck(one: InFlight): void
}

export interface Conversation {
  /** Never rejects. */
  load(module: HostModule): Promise<HostResult<LoadedModule>>
  /** Never rejects. */
  call(module: HostModule, call: HostCall): Promise<HostResult<unknown>>
  /** What the host says about something in flight. False when that makes no sense. */
  hear(frame: HostFrame): boolean
  inFlight(): number
  /** Resolves as soon as nothing is in flight. */
  settled(): Promise<void>
  /** The process is gone: whatever is in flight fails. */
  end(cause: Cause): void
}

/** A timer of more would be over at once. */
const maxTimerMs = 2 ** 31 - 1

export function createConversation({
  limits,
  log,
  pause,
  send,
  unread,
  onDeaf,
  onStuck,
  ...options
}: ConversationOptions): Conversation {
  const flights = createFlights()
  let nextId = 1
  /** Bytes of answers since the host had last read everything, or nearly so. */
  let owed = 0

  /** Asks one to end; tells when it has not ended after a short grace. */
  const cancel = async (one: InFlight, why: 'timeout' | 'aborted') => {
    if (one.over.signal.aborted || one.cancelled !== undefined) return
    one.cancelled = why
    send(cancelFrame(one.id))
    await pause(limits.graceMs, one.over.signal)
    const more = why === 'aborted' && one.awake === true && one.what === 'call' ? one.patienceMs - limits.graceMs : 0
    if (more > 0) await pause(more, one.over.signal)
    if (!one.over.signal.aborted) onStuck(one)
  }
  const cancelAfter = async (one: InFlight, ms: number) => {
    await pause(Math.min(ms, maxTimerMs), one.over.signal)
    await cancel(one, 'timeout')
  }

  /** Answers that nobody reads would pile up here; calls that wait to be read do not count, they are ours. */
  const answer = (line: string) => {
    if (unread() === 0) owed = 0
    owed += line.length
    if (owed > 2 * limits.maxFrameBytes) onDeaf()
    else send(line)
  }
  /** Of modules, outside of calls. */
  const own = { requests: 0, over: new AbortController() }
  const serveOwn = async ({ id, module = '', method, args }: Extract<FromHost, { t: 'request' }>) => {
    try {
      const { onOwnRequest } = options
      if (onOwnRequest === undefined) throw new Error(`nobody serves ${method} outside of a call`)
      if (own.requests >= limits.maxRequests) throw new Error(`more than ${limits.maxRequests} requests at once`)
      own.requests += 1
      try {
        answer(answerFrame(id, await onOwnRequest({ module, method, args, signal: own.over.signal }), undefined))
      } finally {
        own.requests -= 1
      }
    } catch (error) {
      answer(refusalFrame(id, error, undefined, own.over.signal.aborted))
    }
  }
  const serve = async (frame: Extract<FromHost, { t: 'request' }>) => {
    if (frame.call === undefined) return serveOwn(frame)
    const found = flights.get(frame.call)
    const one = found?.what === 'call' ? found : undefined
    try {
      if (one === undefined) throw new Error(`${frame.method}: the call it belongs to is over`)
      if (one.requests >= limits.maxRequests) throw new Error(`more than ${limits.maxRequests} requests at once`)
      one.requests += 1
      try {
        const value = await one.serve(frame.method, argumentsOf(frame, one))
        answer(answerFrame(frame.id, value, one))
      } finally {
        one.requests -= 1
      }
    } catch (error) {
      answer(refusalFrame(frame.id, error, one, one === undefined || one.cancelled !== undefined))
    }
  }

  const settle = (frame: Answer): boolean => {
    const one = flights.get(frame.id)
    if (one === undefined) {
      log.debug({ frame: frame.t }, 'the host answered what nobody waits for')
      return true
    }
    const land = one.what === 'load' ? landing(one, loadResult(one, frame)) : landing(one, callResult(one, frame))
    if (land === undefined) return false
    flights.remove(one)
    land()
    return true
  }

  return {
    inFlight: flights.size,
    settled: flights.none,

    load: (module) =>
      new Promise((settleLoad) => {
        const one: LoadInFlight = {
          what: 'load',
          id: nextId++,
          title: module.name,
          module: module.name,
          over: new AbortController(),
          settle: settleLoad,
          fail: (failure) => settleLoad({ ok: false, failure }),
        }
        flights.add(one)
        send(loadFrame(one.id, module))
        void cancelAfter(one, limits.loadMs)
      }),

    call: (module, call) =>
      new Promise((settleCall) => {
        const { signal, deadlineMs, function: fn = entryOf(module) } = call
        const serveInContext = inContextOfNow(call.onRequest ?? options.onRequest)
        const one: CallInFlight = {
          what: 'call',
          id: nextId++,
          title: titleOf(module, fn),
          module: module.name,
          over: new AbortController(),
          settle: settleCall,
          fail: (failure) => settleCall({ ok: false, failure }),
          references: call.byReference === true ? createReferences() : undefined,
          patienceMs: call.patienceMs ?? limits.graceMs,
          serve: (method, args) => serveInContext({ module: module.name, method, args, signal: one.over.signal }),
          requests: 0,
        }
        try {
          send(callFrame(one, fn, call))
        } catch (error) {
          const detail = `${one.title} was not called: its arguments are no JSON (${messageOf(error)}).`
          return one.fail(failureOf('unserialisable', detail, { fault: 'other', begun: false, cause: error }))
        }
        flights.add(one)
        if (deadlineMs !== undefined) void cancelAfter(one, deadlineMs)
        signal?.addEventListener('abort', () => void cancel(one, 'aborted'), { once: true, signal: one.over.signal })
      }),

    hear(frame) {
      switch (frame.t) {
        case 'request':
          void serve(frame)
          return true
        case 'where': {
          const one = flights.get(frame.id)
          if (one !== undefined) Object.assign(one, { awake: true, stack: frame.stack })
          return true
        }
        default:
          return settle(frame)
      }
    },

    end(cause) {
      own.over.abort(new DOMException('The process is gone.', 'AbortError'))
      const left = flights.all()
      for (const one of left) {
        flights.remove(one)
        one.fail(failureAtEnd(one, cause, left.length === 1))
      }
    },
  }
}

/** `a`, or `a.later` for another function than its entry. */
export function titleOf(module: HostModule, fn: string): string {
  return fn === entryOf(module) ? module.name : `${module.name}.${fn}`
}

/** What to do when an answer has come; undefined where it is none. */
function landing<Result>(one: { settle(result: Result): void }, result: Result | undefined): (() => void) | undefined {
  return result === undefined ? undefined : () => one.settle(result)
}

/** Serves later requests as if they were made here and now, so that they belong to the same turn and scope. */
function inContextOfNow(onRequest: HostOptions['onRequest']): NonNullable<HostOptions['onRequest']> {
  if (onRequest === undefined) return async ({ method }) => Promise.reject(new Error(`nobody serves ${method} here`))
  const reenter = AsyncLocalStorage.snapshot()
  // `async`: what is thrown at once is a refusal, too.
  return async (request) => reenter(onRequest, request)
}
