/**
 * Long-term memory that a plugin provides: the one that `memory.provider` names is asked before a turn and told after it
 * (contract §4.6, seed 004).
 */
import type { TurnFacts } from '../agent/points.ts'
import type { Logger } from '../lib/log.ts'
import type { Registration } from '../middleware/contract.ts'
import type { MemoryAbout, MemoryProvider } from './contract.ts'
import { type AnyCallback, createCallback } from './hooks/callback.ts'
import { createLines } from './lines.ts'

export interface PluginMemoryDeps {
  readonly log: Logger
  readonly now: () => number
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
  /** For one question to the provider, ms; 0 for none. */
  timeoutMs(): number
  /** `memory.provider`: the name of a provider, the id of its plugin, or its folder's name. */
  chosen(): string | undefined
}

/** What a turn needs of it. */
export interface TurnMemory {
  /** What the provider remembers about a message; '' for nothing. Never rejects; takes a bounded time. */
  recall(turn: TurnFacts, message: string): Promise<string>
  /** Tells the provider of a turn that was answered. Returns at once. */
  keep(turn: TurnFacts, message: string, answer: string): void
}

export interface PluginMemory extends TurnMemory {
  /** Taken away, it may end what it holds open. */
  register(owner: string, provider: MemoryProvider): Registration
  /** The name of the provider in use. */
  inUse(): string | undefined
  /** Its part of the system prompt of a new session; '' for none. Never rejects. */
  promptBlock(about: MemoryAbout): Promise<string>
  /** What it wants kept of messages that are about to be summarised; '' for nothing. Never rejects. */
  beforeCompression(messages: readonly Readonly<Record<string, unknown>>[], about: MemoryAbout): Promise<string>
  /** Resolves when every turn was told of, after `withinMs`, or when the signal aborts; tells whether all were. */
  settled(withinMs: number, signal?: AbortSignal): Promise<boolean>
  /** Lets providers end what they hold open. Never rejects. */
  stop(): Promise<void>
}

/** Turns of one session of which the provider has not been told. */
const maxWaiting = 100

type Ask = (method: string, question: () => unknown) => Promise<unknown>

interface Provided {
  readonly owner: string
  readonly provider: MemoryProvider
  readonly ask: Ask
}

export function createMemory(deps: PluginMemoryDeps): PluginMemory {
  const { log } = deps
  const all = new Set<Provided>()
  const lines = createLines(maxWaiting)

  function asker(owner: string): Ask {
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

  function current(): Provided | undefined {
    const chosen = deps.chosen()
    if (chosen === undefined) return undefined
    const named = ({ owner, provider }: Provided) =>
      provider.name === chosen || owner === chosen || owner.endsWith(`/${chosen}`)
    return [...all].find(named)
  }

  async function textOf(answer: Promise<unknown>): Promise<string> {
    const text = await answer
    return typeof text === 'string' ? text.trim() : ''
  }

  /** Tasks in the background and sub-agents have no person whose words are worth remembering. */
  function forTurn({ taskId, sessionId, parentSessionId }: TurnFacts): Provided | undefined {
    return taskId === sessionId && parentSessionId === '' ? current() : undefined
  }

  return {
    register(owner, provider) {
      const provided = { owner, provider, ask: asker(owner) }
      all.add(provided)
      return {
        name: provider.name,
        remove() {
          const removed = all.delete(provided)
          if (removed) void provided.ask('shutdown', () => provider.shutdown?.())
          return removed
        },
      }
    },
    inUse: () => current()?.provider.name,

    async recall(turn, message) {
      const found = forTurn(turn)
      if (found?.provider.prefetch === undefined) return ''
      return await textOf(found.ask('prefetch', () => found.provider.prefetch?.(message, aboutTurn(turn))))
    },

    keep(turn, message, answer) {
      const found = forTurn(turn)
      if (found?.provider.syncTurn === undefined) return
      const tell = async () => {
        await found.ask('syncTurn', () => found.provider.syncTurn?.(message, answer, aboutTurn(turn)))
      }
      if (lines.push(turn.sessionKey, tell)) return
      log.warn(
        { plugin: found.owner, session: turn.sessionKey },
        `memory ${found.provider.name} is too slow: a turn is lost to it`,
      )
    },

    async promptBlock(about) {
      const found = current()
      if (found?.provider.systemPromptBlock === undefined) return ''
      return await textOf(found.ask('systemPromptBlock', () => found.provider.systemPromptBlock?.(about)))
    },

    async beforeCompression(messages, about) {
      const found = current()
      if (found?.provider.onPreCompress === undefined) return ''
      return await textOf(found.ask('onPreCompress', () => found.provider.onPreCompress?.(messages, about)))
    },

    settled: lines.settled,

    async stop() {
      const open = [...all]
      all.clear()
      await Promise.all(open.map(({ ask, provider }) => ask('shutdown', () => provider.shutdown?.())))
    },
  }
}

function aboutTurn({ sessionId, platform, senderId }: TurnFacts): MemoryAbout {
  return { sessionId, platform, userId: senderId }
}
