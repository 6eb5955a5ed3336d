/**
 * The cost of the memory of plugins for a turn when no provider is configured: recall before the turn and sync behind it, beside
 * an async function that does nothing.
 */
import type { TurnInfo } from '../../../src/agent/support/agent-hooks.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { sleep } from '../../../src/lib/timers.ts'
import { createProviderMemory } from '../../../src/plugins/memory/provider-memory.ts'
import { noopPluginMemory, type PluginMemory } from '../../../src/plugins/plugin-memory.ts'
import type { Figure, Row } from '../figure.ts'
import { median } from '../kit/stats.ts'

const turns = 200_000
const rounds = 9

export const provider: Figure = {
  name: 'provider',
  about: 'what a turn costs the memory of plugins without a provider',
  async measure() {
    const nothing = { recall: async () => '', syncTurn: () => undefined }
    const registered = createProviderMemory({
      configuredProvider: () => undefined,
      groupMemory: () => 'none',
      home: '/',
      tools: { register: (_owner, { name }) => ({ name, remove: () => true }) },
      readMessages: async () => [],
      redact: (text) => text,
      timeoutMs: () => 30_000,
      now: Date.now,
      sleep,
      log: silentLog,
    })
    registered.register('demo', { name: 'notes', prefetch: () => 'never asked' })
    await registered.refresh()
    const memories = { nothing, noop: noopPluginMemory, registered }
    const costs: Record<keyof typeof memories, number[]> = { nothing: [], noop: [], registered: [] }
    for (let round = 0; round < rounds; round += 1) {
      costs.nothing.push(await costOfTurns(memories.nothing))
      costs.noop.push(await costOfTurns(memories.noop))
      costs.registered.push(await costOfTurns(memories.registered))
    }
    const baseline = median(costs.nothing)
    const row = (name: string, measured: number): Row => ({
      name,
      measured,
      unit: 'µs',
      bar: 5,
      baseline: { what: 'an async function', value: baseline },
    })
    return [
      row('memory of a turn without plugins', median(costs.noop)),
      row('memory of a turn with a provider that is not configured', median(costs.registered)),
    ]
  },
}

const turn: TurnInfo = {
  sessionId: 's',
  sessionKey: 'web:dm:1',
  turnId: 't',
  taskId: 's',
  platform: 'web',
  route: 'web_dm',
  senderId: 'ada',
  role: 'owner',
  parentSessionId: '',
  model: 'm',
  provider: 'p',
  baseUrl: '',
  apiMode: 'chat_completions',
}
const about = { userMessage: 'What do I like?', response: 'Tea.', history: () => [] }

/** CPU per turn, µs. */
async function costOfTurns(memory: Pick<PluginMemory, 'recall' | 'syncTurn'>): Promise<number> {
  const before = process.cpuUsage()
  for (let count = 0; count < turns; count += 1) {
    await memory.recall(turn, about.userMessage)
    memory.syncTurn(turn, about)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / turns
}
