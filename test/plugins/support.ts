/**
 * Creates plugin hooks with virtual time and a recording log.
 */
import type { TurnInfo } from '../../src/agent/support/agent-hooks.ts'
import type { FailureMode } from '../../src/middleware/contract.ts'
import { createPluginHooks, type PluginHooks } from '../../src/plugins/hooks/plugin-hooks.ts'
import { createRecordingLog, type RecordingLog } from '../hosts/support.ts'
import { createVirtualTime, type VirtualTime } from '../platforms/virtual-time.ts'

export interface TestHooks {
  readonly hooks: PluginHooks
  readonly log: RecordingLog
  readonly time: VirtualTime
  readonly settings: { timeoutMs: number; toolErrors: FailureMode }
  /** Resolves when all notifications were delivered. */
  drained(): Promise<boolean>
  /** The warnings so far. */
  warnings(): Warning[]
}

export function createTestHooks(): TestHooks {
  const log = createRecordingLog()
  const time = createVirtualTime()
  const settings: TestHooks['settings'] = { timeoutMs: 30_000, toolErrors: 'open' }
  const hooks = createPluginHooks(
    { log, now: time.clock, sleep: time.sleep, timeoutMs: () => settings.timeoutMs },
    () => settings.toolErrors,
  )
  return {
    hooks,
    log,
    time,
    settings,
    drained: () => hooks.drain(10_000),
    warnings: () => warningsOf(log),
  }
}

/** `event`, `plugin`, and the hook or the prompt section of a log entry. */
export type Warning = readonly [event: unknown, plugin: unknown, name: unknown]

export function warningsOf({ records }: Pick<RecordingLog, 'records'>): Warning[] {
  return records
    .filter(({ level }) => level === 'warn')
    .map(({ fields: { event, plugin, hook, section } }) => [event, plugin, hook ?? section])
}

export const dispatchContext = { route: 'web_dm', queueKey: 'web:dm:1' }

export function createTurnInfo(changes: Partial<TurnInfo> = {}): TurnInfo {
  return {
    sessionId: 's1',
    sessionKey: 'web:dm:1',
    turnId: 't1',
    taskId: 's1',
    platform: 'web',
    route: 'web_dm',
    senderId: 'ada',
    role: 'owner',
    parentSessionId: '',
    model: 'small',
    provider: 'openai',
    baseUrl: 'http://127.0.0.1',
    apiMode: 'chat_completions',
    ...changes,
  }
}

/** Never settles. */
export function neverSettles(): Promise<never> {
  return new Promise(() => undefined)
}
