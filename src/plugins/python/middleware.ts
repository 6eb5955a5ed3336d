/**
 * Proxies for middleware in Python (seed 000). Values keep their identity across the process boundary: an unchanged result
 * or a re-raised error is the same object as before. The exit of a process is handled as an error of the callback, with
 * the rules of the execution chain (`src/middleware/execution-chain.ts`).
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
 * How long a callback may ignore an abort before its process is killed, ms. The caller does not wait, and killing the
 * process also ends other calls.
 */
const abortGraceMs = 30_000

/** @param serve handles requests of the plugin other than `next_call` */
export function createMiddlewareProxy(
  { key, name, parts }: SpecOf<'middleware'>,
  process: PythonProcess,
  serve: HostRequestHandler,
): AnyCallback {
  const callback = `${key} call`
  const requested = parts['call'] ?? null
  const wraps = isMiddlewareKind(name) && wrapsNextCall[name]

  const call = (payload: object) => ({
    keywords: toKeywordArguments(payload, requested),
    cancelGraceMs: abortGraceMs,
    ...pickSignal(payload),
  })
  if (!wraps) return (payload: object) => process.call(callback, call(payload))

  return async (payload: object) => {
    const nextCall = createNextCallHandle(payload)
    try {
      const value = await process.call(callback, {
        ...call(payload),
        callbacks: requested === null || requested.includes('next_call') ? ['next_call'] : [],
        byReference: true,
        onRequest: (request) => (request.method === 'next_call' ? nextCall.run(request) : serve(request)),
      })
      // A callback that returns nothing only observes the call.
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
  /** Throws the error of `next_call`, if any, because a process that has exited cannot re-raise it. */
  throwFailure(): void
}

function createNextCallHandle(payload: object): NextCallHandle {
  let called = false
  let failed: { readonly error: unknown } | undefined
  return {
    async run({ args: [argument] }) {
      if (!('next_call' in payload) || typeof payload.next_call !== 'function')
        throw new Error('next_call is not available')
      if (argument !== undefined && (typeof argument !== 'object' || Array.isArray(argument)))
        throw new TypeError('next_call: expected a dict, or nothing')
      called = true
      try {
        const value: unknown = await payload.next_call(argument ?? null)
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
