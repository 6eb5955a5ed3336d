/**
 * Long-term memory that a plugin provides: the one that `memory.provider` names is asked before a turn and told after it
 * (contract §4.6, seed 004).
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
  /** For one question to the provider, ms; 0 for none. */
  timeoutMs(): number
  /** `memory.provider`: the name of a provider, the id of its plugin, or its folder's name. */
  configuredProvider(): string | undefined
}

/** What a turn needs of it. */
export interface TurnMemory {
  /** What the provider remembers about a message; '' for nothing. Never rejects; takes a bounded time. */
  recall(turn: TurnInfo, message: string): Promise<string>
  /** Tells the provider of a turn that was answered. Returns at once. */
  syncTurn(turn: TurnInfo, message: string, answer: string): void
}

export interface PluginMemory extends TurnMemory {
  /** Taken away, it may end what it holds open. */
  register(owner: string, provider: MemoryProvider): Registration
  /** The name of the provider in use. */
  activeProviderName(): string | undefined
  /** Its part of the system prompt of a new session; '' for none. Never rejects. */
  promptBlock(about: MemoryContext): Promise<string>
  /** What it wants kept of messages that are about to be summarised; '' for nothing. Never rejects. */
  beforeCompression(messages: readonly Readonly<Record<string, unknown>>[], about: MemoryContext): Promise<string>
  /** Resolves when every turn was told of, after `withinMs`, or when the signal aborts; tells whether all were. */
  drain(withinMs: number, signal?: AbortSignal): Promise<boolean>
  /** Lets providers end what they hold open. Never rejects. */
  stop(): Promise<void>
}

/** Turns of one session of which the provider has not been told. */
const maxPendingTurns = 100

type CallProvider = (method: string, question: () => unknown) => Promise<unknown>

interface RegisteredProvider {
  readonly owner: string
  readonly provider: MemoryProvider
  readonly call: CallProvider
}

export function createPluginMemory(deps: PluginMemoryDeps): PluginMemory {
  const { log } = deps
  const providers = new Set<RegisteredProvider>()
  const queue = createKeyedQueue(maxPendingTurns)

  function createProviderCaller(owner: string): CallProvider {
    const callbacks = new Map<string, ReturnType<typeof createCallback>>()
    // Every question is a callback of its own kind, bounded and left alone for a while as those of hooks are.
    const call: AnyCallback = (question: { ask(): unknown }) => question.ask()
    return async (method, ask) => {
      const point = `memory ${method}`
      const callback = callbacks.get(point) ?? createCallback({ ...deps, owner, point, callback: call })
      callbacks.set(point, callback)
      const outcome = await callback.call({ ask })
      return outcome.ok ? outcome.value : undefined
    }
  }

  function activeProvider(): RegisteredProvider | undefined {
    const configured = deps.configuredProvider()
    if (configured === undefined) return undefined
    const named = ({ owner, provider }: RegisteredProvider) =>
      provider.name === configured || owner === configured || owner.endsWith(`/${configured}`)
    return [...providers].find(named)
  }

  async function textOf(answer: Promise<unknown>): Promise<string> {
    const text = await answer
    return typeof text === 'string' ? text.trim() : ''
  }

  /** Tasks in the background and sub-agents have no person whose words are worth remembering. */
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

    syncTurn(turn, message, answer) {
      const found = providerForTurn(turn)
      if (found?.provider.syncTurn === undefined) return
      const sync = async () => {
        await found.call('syncTurn', () => found.provider.syncTurn?.(message, answer, memoryContextOf(turn)))
      }
      if (queue.push(turn.sessionKey, sync)) return
      log.warn(
        { plugin: found.owner, session: turn.sessionKey },
        `memory ${found.provider.name} is too slow: a turn is lost to it`,
      )
    },

    async promptBlock(about) {
      const found = activeProvider()
      if (found?.provider.systemPromptBlock === undefined) return ''
      return await textOf(found.call('systemPromptBlock', () => found.provider.systemPromptBlock?.(about)))
    },

    async beforeCompression(messages, about) {
      const found = activeProvider()
      if (found?.provider.onPreCompress === undefined) return ''
      return await textOf(found.call('onPreCompress', () => found.provider.onPreCompress?.(messages, about)))
    },

    drain: queue.drain,

    async stop() {
      const open = [...providers]
      providers.clear()
      await Promise.all(open.map(({ call, provider }) => call('shutdown', () => provider.shutdown?.())))
    },
  }
}

function memoryContextOf({ sessionId, platform, senderId }: TurnInfo): MemoryContext {
  return { sessionId, platform, userId: senderId }
}
