/**
 * The memory of plugins with virtual time, the tools that providers register, and the messages of sessions.
 */
import type { TurnInfo } from '../../../src/agent/support/agent-hooks.ts'
import type { Fields } from '../../../src/middleware/contract.ts'
import type { ProviderMemoryDeps } from '../../../src/plugins/memory/contract.ts'
import { createProviderMemory } from '../../../src/plugins/memory/provider-memory.ts'
import type { MemoryOwner, PluginMemory } from '../../../src/plugins/plugin-memory.ts'
import { createPluginTools, type PluginTools } from '../../../src/plugins/plugin-tools.ts'
import { createRecordingLog, type RecordingLog } from '../../hosts/support.ts'
import { createVirtualTime, type VirtualTime } from '../../platforms/virtual-time.ts'
import { createTurnInfo } from '../support.ts'

export interface TestMemory {
  readonly memory: PluginMemory
  readonly tools: PluginTools
  readonly log: RecordingLog
  readonly time: VirtualTime
  readonly settings: { chosen: string | undefined; groupMemory: 'none' | 'all' }
  /** The messages of sessions, by id. */
  readonly messages: Map<string, readonly Fields[]>
  /** Everything that was queued has been delivered. */
  drained(): Promise<boolean>
}

export const home = '/home/of/hermes'

export function createTestMemory(changes: Partial<ProviderMemoryDeps> = {}): TestMemory {
  const log = createRecordingLog()
  const time = createVirtualTime()
  const settings: TestMemory['settings'] = { chosen: 'notes', groupMemory: 'none' }
  const messages: TestMemory['messages'] = new Map()
  const tools = createPluginTools(
    () => false,
    () => undefined,
    log,
  )
  const memory = createProviderMemory({
    log,
    now: time.clock,
    sleep: time.sleep,
    timeoutMs: () => 1_000,
    configuredProvider: () => settings.chosen,
    groupMemory: () => settings.groupMemory,
    home,
    tools,
    readMessages: async (sessionId) => messages.get(sessionId) ?? [],
    redact: (text) => text.replaceAll('sk-1', '[redacted]'),
    ...changes,
  })
  return { memory, tools, log, time, settings, messages, drained: () => memory.drain(60_000) }
}

export const ada: MemoryOwner = {
  sessionId: 's1',
  sessionKey: 'web:dm:1',
  platform: 'web',
  chatType: 'dm',
  userId: 'ada',
  role: 'owner',
}

export const adasTurn: TurnInfo = createTurnInfo()

/** What a turn tells the memory at its end. */
export function answered(userMessage: string, response: string, history: readonly Fields[] = []) {
  return { userMessage, response, history: () => history.map((message) => ({ ...message })) }
}
