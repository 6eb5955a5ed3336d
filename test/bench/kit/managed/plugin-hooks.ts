/**
 * Plugin hooks whose results are awaited. Wrappers are callbacks here.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { silentLog } from '../../../../src/lib/log.ts'
import { createPluginHooks } from '../../../../src/plugins/hooks/plugin-hooks.ts'
import { argsOf, type CreateVariant, times } from './workload.ts'

export const pluginHooks: CreateVariant = (workload) => {
  const hooks = createPluginHooks(
    {
      log: silentLog,
      now: Date.now,
      sleep: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined),
      timeoutMs: () => 30_000,
    },
    () => 'open',
  )
  times(workload.wrappers, (step) =>
    hooks.register(`plugin-${step}`, 'pre_tool_call', ({ tool_name }) =>
      tool_name === 'terminal' ? { action: 'block', message: 'no' } : undefined,
    ),
  )
  const args = argsOf(workload)
  const at = { route: 'telegram_dm', queueKey: 's' }
  const payload = () => ({
    tool_name: 'read_file',
    args,
    task_id: 'task-1',
    session_id: 'session-1',
    tool_call_id: 'call-1',
    turn_id: 'turn-1',
    api_request_id: 'request-1',
    role: 'owner' as const,
    middleware_trace: [],
  })
  return { call: () => hooks.collect('pre_tool_call', at, payload), flushed: async () => undefined }
}
