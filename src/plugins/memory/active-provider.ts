/**
 * Selects the memory provider in use among the registered ones: the one that the configuration names, if it is available.
 */
import { withTimeout } from '../../lib/timers.ts'
import type { Registration } from '../../middleware/contract.ts'
import type { MemoryContext, MemoryProvider } from '../memory-provider.ts'
import type { PluginMemory } from '../plugin-memory.ts'
import type { ProviderMemoryDeps } from './contract.ts'
import { createMemoryConversations, type MemoryConversations } from './memory-conversations.ts'
import { checkProvider, createProviderCalls, type ProviderCalls, recallLimitMs } from './provider-calls.ts'
import { registerProviderTools } from './provider-tools.ts'
import { toMemoryBlock } from './recalled-text.ts'

interface RegisteredProvider {
  readonly owner: string
  readonly provider: MemoryProvider
  readonly calls: ProviderCalls
}

/** The provider in use. */
export interface ActiveProvider extends RegisteredProvider {
  readonly conversations: MemoryConversations
  readonly tools: readonly Registration[]
}

export interface ActiveProviders extends Pick<PluginMemory, 'register' | 'refresh' | 'problem'> {
  /** The provider in use, while the configuration still names it. */
  current(): ActiveProvider | undefined
  /** Calls `shutdown` of all providers. Never rejects. */
  close(): Promise<void>
}

export function createActiveProvider(deps: ProviderMemoryDeps): ActiveProviders {
  const registered = new Set<RegisteredProvider>()
  let active: ActiveProvider | undefined
  let problem: string | undefined
  let refreshing = Promise.resolve()

  function findConfigured(): RegisteredProvider | undefined {
    const configured = deps.configuredProvider()
    if (configured === undefined) return undefined
    const isNamed = ({ owner, provider }: RegisteredProvider) =>
      provider.name === configured || owner === configured || owner.endsWith(`/${configured}`)
    return [...registered].find(isNamed)
  }

  function current(): ActiveProvider | undefined {
    return active !== undefined && findConfigured()?.provider === active.provider ? active : undefined
  }

  function deactivate(): void {
    for (const tool of active?.tools ?? []) tool.remove()
    active = undefined
  }

  async function activateConfigured(): Promise<void> {
    const candidate = findConfigured()
    const availability = candidate === undefined ? undefined : await checkAvailability(candidate)
    problem = availability?.problem
    if (candidate === undefined || problem !== undefined) return deactivate()
    if (active?.provider === candidate.provider) return
    deactivate()
    const schemas = await candidate.calls.call('toolSchemas', () => candidate.provider.toolSchemas?.())
    // It may have been removed meanwhile.
    if (findConfigured() === candidate) active = activate(deps, candidate, schemas.ok ? schemas.value : [])
  }

  return {
    register(owner, provider) {
      checkProvider(owner, provider)
      const entry = { owner, provider, calls: createProviderCalls(deps, owner, provider) }
      registered.add(entry)
      return {
        name: provider.name,
        remove() {
          if (active?.provider === provider) deactivate()
          const removed = registered.delete(entry)
          if (removed) void entry.calls.call('shutdown', () => provider.shutdown?.())
          return removed
        },
      }
    },
    refresh() {
      refreshing = refreshing.then(activateConfigured)
      return refreshing
    },
    current,
    problem: () => (findConfigured() === undefined ? undefined : problem),
    async close() {
      deactivate()
      const all = [...registered]
      registered.clear()
      await Promise.all(all.map(({ calls, provider }) => calls.call('shutdown', () => provider.shutdown?.())))
    },
  }
}

function activate(deps: ProviderMemoryDeps, registered: RegisteredProvider, schemas: unknown): ActiveProvider {
  const { owner, provider, calls } = registered
  const initialize = async (context: MemoryContext) => {
    if (!calls.has('initialize')) return true
    return (await calls.call('initialize', () => provider.initialize?.(context.sessionId, context))).ok
  }
  const conversations = createMemoryConversations(deps.home, initialize, (switching) =>
    waitForSwitch(deps, owner, switching),
  )
  const contextOf = (sessionId: string) => conversations.ofSession(sessionId)?.context
  const tools = calls.has('handleToolCall') ? registerProviderTools(deps, registered, schemas, contextOf) : []
  deps.log.info(
    { event: 'plugin.memory_active', plugin: owner, provider: provider.name, tools: tools.length },
    'the memory provider is in use',
  )
  return { ...registered, conversations, tools }
}

/** A turn waits for it, behind calls that may take minutes. */
async function waitForSwitch(
  { log, sleep, timeoutMs }: ProviderMemoryDeps,
  owner: string,
  switching: Promise<void>,
): Promise<boolean> {
  const { done } = await withTimeout(switching, recallLimitMs(timeoutMs()), undefined, sleep)
  if (!done) {
    log.warn(
      { event: 'plugin.memory_switch_slow', plugin: owner },
      'the memory provider still works for the session before; a step of the turn goes on without it',
    )
  }
  return done
}

async function checkAvailability({ provider, calls }: RegisteredProvider): Promise<{ readonly problem?: string }> {
  if (!calls.has('isAvailable')) return {}
  const available = await calls.call('isAvailable', () => provider.isAvailable?.())
  if (available.ok && available.value === true) return {}
  const told = await calls.call('unavailableReason', () => provider.unavailableReason?.())
  const reason = told.ok ? toMemoryBlock(told.value).slice(0, 500) : ''
  const fallback = available.ok ? '`hermes memory setup` configures it' : available.reason
  return { problem: `the memory provider ${provider.name} is not available: ${reason === '' ? fallback : reason}` }
}
