/**
 * Calls the methods of a memory provider: each is bounded in time, and none of its failures reaches the caller.
 */

import { HermesError } from '../../lib/errors.ts'
import {
  type AnyCallback,
  type Callback,
  type CallbackResult,
  type CallbackRuntime,
  createCallback,
} from '../hooks/callback.ts'
import type { MemoryProvider } from '../memory-provider.ts'

export type ProviderMethod = Exclude<keyof MemoryProvider, 'name' | 'separatesChats'>

export interface ProviderCalls {
  /** The provider has this method. */
  has(method: ProviderMethod): boolean
  /** `ok` is false without the method, too. Never rejects. */
  call(method: ProviderMethod, invoke: () => unknown): Promise<CallbackResult>
}

/** A turn waits for it. */
const maxRecallMs = 8_000
/** A turn or the start waits for it. */
const maxBlockingMs = 30_000
/** It runs behind the turn; a provider may have a model extract facts. */
const maxBackgroundMs = 120_000

const backgroundMethods: ReadonlySet<ProviderMethod> = new Set([
  'syncTurn',
  'queuePrefetch',
  'onSessionEnd',
  'onSessionSwitch',
  'onMemoryWrite',
  'onDelegation',
])
const recallMethods: ReadonlySet<ProviderMethod> = new Set(['prefetch', 'onTurnStart'])

/** How long a turn waits for the whole recall, ms. */
export function recallLimitMs(timeoutMs: number): number {
  return timeoutMs === 0 ? maxRecallMs : Math.min(timeoutMs, maxRecallMs)
}

export function createProviderCalls(runtime: CallbackRuntime, owner: string, provider: MemoryProvider): ProviderCalls {
  const callbacks = new Map<ProviderMethod, Callback>()

  function limitMs(method: ProviderMethod): number {
    const configured = runtime.timeoutMs()
    if (backgroundMethods.has(method)) return Math.max(configured, maxBackgroundMs)
    if (recallMethods.has(method)) return recallLimitMs(configured)
    return configured === 0 ? maxBlockingMs : Math.min(configured, maxBlockingMs)
  }

  // Each method is a callback of its own, so that a timeout of one method does not skip the others.
  function callbackOf(method: ProviderMethod) {
    const callback: AnyCallback = (request: { invoke(): unknown }) => request.invoke()
    const known =
      callbacks.get(method) ?? createCallback(runtime, owner, `memory ${method}`, callback, () => limitMs(method))
    callbacks.set(method, known)
    return known
  }

  const has = (method: ProviderMethod) => typeof provider[method] === 'function'
  return {
    has,
    async call(method, invoke) {
      if (!has(method)) return { ok: false, reason: 'it has no such method' }
      return await callbackOf(method).call({ invoke })
    },
  }
}

/** Throws `plugins/invalid-registration` for an object that is no provider. */
export function checkProvider(owner: string, provider: MemoryProvider): void {
  const value: unknown = provider
  const name = typeof value === 'object' && value !== null ? provider.name : undefined
  if (typeof name === 'string' && name.trim() !== '') return
  throw new HermesError('plugins/invalid-registration', `memory provider of ${owner}: expected an object with a name`)
}
