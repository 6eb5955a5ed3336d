/**
 * The order of seed 000: a plugin is notified of a request (`pre_api_request`) before its `llm_execution` runs.
 */
import { isRecord } from '../lib/json.ts'
import type { PluginHooks } from './hooks/plugin-hooks.ts'

/** Keeps the name and the type of the callback. Without a waiting notification it is called directly. */
export function afterNotifications<Callback extends (...args: never[]) => unknown>(
  { notificationsBegun }: Pick<PluginHooks, 'notificationsBegun'>,
  plugin: string,
  callback: Callback,
): Callback {
  return new Proxy(callback, {
    apply(target, self: unknown, args: unknown[]) {
      const call = (): unknown => Reflect.apply(target, self, args)
      const [payload] = args
      const sessionKey = isRecord(payload) ? payload['session_key'] : undefined
      const pending = typeof sessionKey === 'string' ? notificationsBegun(plugin, sessionKey) : undefined
      return pending === undefined ? call() : pending.then(call)
    },
  })
}
