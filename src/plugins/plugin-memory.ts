/**
 * Connects the long-term memory of a plugin: the provider named by `memory.provider` is queried before a turn and receives
 * the turn afterwards (contract §4.6, seed 004).
 */
import type { TurnInfo } from '../agent/agent-hooks.ts'
import type { Logger } from '../lib/log.ts'
import type { Registration } from '../middleware/contract.ts'
import type { MemoryContext, MemoryProvider } from './contract.ts'
import { type AnyCallback, createCallback } from './hooks/callback.ts'
import { createKeyedQueue } from './keyed-queue.ts'

export interface PluginMemoryDeps {
  readonly log: Logger
  readonly now: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** For one call of the provider, ms; 0 for none. */
  timeoutMs(): number
  /** `memory.provider`: the name of a provider, the id of its plugin, or the name of the plugin folder. */
  configuredProvider(): string | undefined
}

/** The part that a turn uses. */
export interface TurnMemory {
  /** The memories for a message; '' for none. Never rejects; has a timeout. */
  recall(turn: TurnInfo, message: string): Promise<string>
  /** Queues a completed turn for the provider. Returns immediately. */
  syncTurn(turn: TurnInfo, message: string, response: string): void
}

export interface PluginMemory extends TurnMemory {
  /** Removing the registration calls `shutdown` of the provider. */
  register(owner: string, provider: MemoryProvider): Registration
  /** The name of the active provider. */
  activeProviderName(): string | undefined
  /** The provider's part of the system prompt of a new session; '' for none. Never rejects. */
  promptBlock(context: MemoryContext): Promise<string>
  /** Insights to keep from messages that are about to be summarized; '' for none. Never rejects. */
  beforeCompression(messages: readonly Readonly<Record<string, unknown>>[], context: MemoryContext): Promise<string>
  /** Resolves when all queued turns were delivered (true), or after `withinMs` or an abort of the signal (false). */
  drain(withinMs: number, signal?: AbortSignal): Promise<boolean>
  /** Calls `shutdown` of all providers. Never rejects. */
  stop(): Promise<void>
}

/** Turns that may wait per session. */
const maxPendingTurns = 100

type CallProvider = (method: string, invoke: () => unknown) => Promise<unknown>

interface RegisteredProvider {
  readonly owner: string
  readonly provider: MemoryProvider
  readonly call: CallProvider
}

export function createPluginMemory(deps: PluginMemoryDeps): PluginMemory {
  const { log, now, sleep, timeoutMs } = deps
  const providers = new Set<RegisteredProvider>()
  const queue = createKeyedQueue(maxPendingTurns)

  function createProviderCaller(owner: string): CallProvider {
    const callbacks = new Map<string, ReturnType<typeof createCallback>>()
    // Each method is a callback of its own, so that a timeout of one method does not skip the others.
    const call: AnyCallback = (request: { invoke(): unknown }) => request.invoke()
    return async (method, invoke) => {
      const point = `memory ${method}`
      const callback =
        callbacks.get(point) ?? createCallback({ owner, point, callback: call, timeoutMs, now, sleep, log })
      callbacks.set(point, callback)
      const result = await callback.call({ invoke })
      return result.ok ? result.value : undefined
    }
  }

  function activeProvider(): RegisteredProvider | undefined {
    const configured = deps.configuredProvider()
    if (configured === undefined) return undefined
    const named = ({ owner, provider }: RegisteredProvider) =>
      provider.name === configured || owner === configured || owner.endsWith(`/${configured}`)
    return [...providers].find(named)
  }

  async function textOf(returned: Promise<unknown>): Promise<string> {
    const text = await returned
    return typeof text === 'string' ? text.trim() : ''
  }

  /** Background tasks and sub-agents are not conversations with a user, so they do not use the memory. */
  function providerForTurn({ taskId, sessionId, parentSessionId }: TurnInfo): RegisteredProvider | undefined {
    return taskId === sessionId && parentSessionId === '' ? activeProvider() : undefined
  }

  return {
    register(owner, provider) {
      const provided = { owner, provider, call: createProviderCaller(owner) }
      providers.add(provided)
      return {
        name: provider.name,
        remove() {
          const removed = providers.delete(provided)
          if (removed) void provided.call('shutdown', () => provider.shutdown?.())
          return removed
        },
      }
    },
    activeProviderName: () => activeProvider()?.provider.name,

    async recall(turn, message) {
      const found = providerForTurn(turn)
      if (found?.provider.prefetch === undefined) return ''
      return await textOf(found.call('prefetch', () => found.provider.prefetch?.(message, memoryContextOf(turn))))
    },

    syncTurn(turn, message, response) {
      const found = providerForTurn(turn)
      if (found?.provider.syncTurn === undefined) return
      const sync = async () => {
        await found.call('syncTurn', () => found.provider.syncTurn?.(message, response, memoryContextOf(turn)))
      }
      if (queue.push(turn.sessionKey, sync)) return
      log.warn(
        { event: 'plugin.memory_turn_dropped', plugin: found.owner, session: turn.sessionKey },
        'the memory provider is too slow; a turn was dropped',
      )
    },

    async promptBlock(context) {
      const found = activeProvider()
      if (found?.provider.systemPromptBlock === undefined) return ''
      return await textOf(found.call('systemPromptBlock', () => found.provider.systemPromptBlock?.(context)))
    },

    async beforeCompression(messages, context) {
      const found = activeProvider()
      if (found?.provider.onPreCompress === undefined) return ''
      return await textOf(found.call('onPreCompress', () => found.provider.onPreCompress?.(messages, context)))
    },

    drain: queue.drain,

    async stop() {
      const registered = [...providers]
      providers.clear()
      await Promise.all(registered.map(({ call, provider }) => call('shutdown', () => provider.shutdown?.())))
    },
  }
}

function memoryContextOf({ sessionId, platform, senderId }: TurnInfo): MemoryContext {
  return { sessionId, platform, userId: senderId }
}
