/**
 * Stand-ins for middleware in Python (seed 000). `next_call` crosses the border with identity: what comes back as it went
 * over is the very object of ours, an error that is raised again is the very error. The rules of failing open are those of
 * the chain (`src/middleware/execution-chain.ts`): a process that ends counts as a callback that throws.
 */
import type { HostRequest, HostRequestHandler } from '../../hosts/contract.ts'
import type { AnyCallback } from '../hooks/callback.ts'
import type { PythonProcess } from './contract.ts'
import { pickSignal, toKeywordArguments } from './keyword-arguments.ts'
import { isProcessError } from './python-error.ts'
import type { SpecOf } from './registration-spec.ts'

export type MiddlewareKind = keyof typeof wrapsNextCall

const wrapsNextCall = {
  llm_request: false,
  tool_request: false,
  api_request: false,
  llm_execution: true,
  tool_execution: true,
  api_execution: true,
} as const

export function isMiddlewareKind(kind: string): kind is MiddlewareKind {
  return Object.hasOwn(wrapsNextCall, kind)
}

/**
 * One that ignores a stop is left to itself for this long, ms: nobody waits for it, and killing its process takes along
 * what it does for others.
 */
const abortGraceMs = 30_000

/** @param serve what the plugin asks for beside `next_call` */
export function createMiddlewareProxy(
  { key, name, parts }: SpecOf<'middleware'>,
  process: PythonProcess,
  serve: HostRequestHandler,
): AnyCallback {
  const callback = `${key} call`
  const wanted = parts['call'] ?? null
  const wraps = isMiddlewareKind(name) && wrapsNextCall[name]

  const call = (payload: object) => ({
    keywords: toKeywordArguments(payload, wanted),
    cancelGraceMs: abortGraceMs,
    ...pickSignal(payload),
  })
  if (!wraps) return (payload: object) => process.call(callback, call(payload))

  return async (payload: object) => {
    const nextCall = createNextCallHandle(payload)
    try {
      const value = await process.call(callback, {
        ...call(payload),
        callbacks: wanted === null || wanted.includes('next_call') ? ['next_call'] : [],
        byReference: true,
        onRequest: (request) => (request.method === 'next_call' ? nextCall.run(request) : serve(request)),
      })
      // A function without a return only watched.
      return value === null && nextCall.wasCalled() ? undefined : value
    } catch (error) {
      if (isProcessError(error)) nextCall.throwFailure()
      throw error
    }
  }
}

interface NextCallHandle {
  run(request: HostRequest): Promise<unknown>
  wasCalled(): boolean
  /** Throws what the rest of the call has failed with, if it has: a process that ended translates nothing. */
  throwFailure(): void
}

function createNextCallHandle(payload: object): NextCallHandle {
  let called = false
  let failed: { readonly error: unknown } | undefined
  return {
    async run({ args: [given] }) {
      if (!('next_call' in payload) || typeof payload.next_call !== 'function') throw new Error('there is no next_call')
      if (given !== undefined && (typeof given !== 'object' || Array.isArray(given)))
        throw new TypeError('next_call: expected a dict, or nothing')
      called = true
      try {
        const value: unknown = await payload.next_call(given ?? null)
        return value
      } catch (error) {
        failed ??= { error }
        throw error
      }
    },
    wasCalled: () => called,
    throwFailure() {
      if (failed !== undefined) throw failed.error
    },
  }
}
