/**
 * Plugin hooks with stopped time and a log that is remembered.
 */
import type { TurnFacts } from '../../src/agent/points.ts'
import type { FailureMode } from '../../src/middleware/contract.ts'
import { createPluginHooks, type PluginHooks } from '../../src/plugins/hooks/hooks.ts'
import { createRecordingLog, type RecordingLog } from '../hosts/support.ts'
import { type StoppedTime, stopTime } from '../platforms/stopped-time.ts'

export interface HooksUnderTest {
  readonly hooks: PluginHooks
  readonly log: RecordingLog
  readonly time: StoppedTime
  readonly settings: { timeoutMs: number; toolErrors: FailureMode }
  /** Resolves when everything that was told was heard. */
  heard(): Promise<boolean>
  /** The texts of warnings so far. */
  warnings(): string[]
}

export function hooksUnderTest(): HooksUnderTest {
  const log = createRecordingLog()
  const time = stopTime()
  const settings: HooksUnderTest['settings'] = { timeoutMs: 30_000, toolErrors: 'open' }
  const hooks = createPluginHooks({
    log,
    now: time.clock,
    pause: time.pause,
    timeoutMs: () => settings.timeoutMs,
    toolErrors: () => settings.toolErrors,
  })
  return {
    hooks,
    log,
    time,
    settings,
    heard: () => hooks.settled(10_000),
    warnings: () => log.records.filter(({ level }) => level === 'warn').map(({ text }) => text),
  }
}

export const here = { route: 'web_dm', order: 'web:dm:1' }

export function turnFacts(changes: Partial<TurnFacts> = {}): TurnFacts {
  return {
    sessionId: 's1',
    sessionKey: 'web:dm:1',
    turnId: 't1',
    taskId: 's1',
    platform: 'web',
    route: 'web_dm',
    senderId: 'ada',
    parentSessionId: '',
    model: 'small',
    provider: 'openai',
    baseUrl: 'http://127.0.0.1',
    apiMode: 'chat_completions',
    ...changes,
  }
}

/** Never settles. */
export function never(): Promise<never> {
  return new Promise(() => undefined)
}
