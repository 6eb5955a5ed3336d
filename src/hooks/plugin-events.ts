/**
 * Programs and webhooks of the configuration that subscribe to an event of plugins, such as `pre_tool_call` (contract §2.7).
 */
import { isRecord } from '../lib/json.ts'
import { fallbackDecision } from './command-hook.ts'
import type { CommandHook } from './config.ts'
import type { Listener } from './listener.ts'

/** The events of plugins, as this module uses them. */
export interface PluginEvents {
  includes(event: string): boolean
  /** Whether the caller of the event waits for results and uses them. */
  usesResults(event: string): boolean
  register(event: string, hook: PluginEventHook): { remove(): unknown }
}

/** For a registry outside of a gateway, where no events of plugins occur. */
export const noPluginEvents: PluginEvents = {
  includes: () => false,
  usesResults: () => false,
  register: () => ({ remove: () => undefined }),
}

/** A callback that is registered beside those of plugins. */
export interface PluginEventHook {
  readonly id: string
  /** Only for `pre_tool_call`: a failure of the callback blocks the call. */
  readonly failsClosed: boolean
  /** Resolves with a result as callbacks of plugins return it. Never rejects. */
  call(payload: object): Promise<unknown>
}

export interface PluginEventHookSpec {
  readonly id: string
  readonly event: string
  /** Undefined for a webhook, whose response is not used. */
  readonly command: CommandHook | undefined
  /** Undefined if the program has not been accepted. */
  readonly listener: Listener | undefined
  readonly usesResults: boolean
}

/** Its hooks decide whether a tool runs. */
export const toolCheckEvent = 'pre_tool_call'

export function createPluginEventHook(spec: PluginEventHookSpec): PluginEventHook {
  const { id, event, command, listener } = spec
  const waits = spec.usesResults && command !== undefined
  return {
    id,
    failsClosed: command?.fail_closed === true && event === toolCheckEvent,
    async call(payload) {
      const context: object = { ...payload }
      if (!waits) {
        listener?.notify(event, context)
        return undefined
      }
      const decision =
        listener === undefined ? fallbackDecision(command, context) : await listener.request(event, context)
      return toPluginResult(id, event, decision)
    },
  }
}

/** Blocks each tool call while a configured check is missing. */
export const invalidCheckHook: PluginEventHook = {
  id: `${toolCheckEvent}/invalid`,
  failsClosed: true,
  async call() {
    const message =
      'Not run: config.yaml has an invalid entry under `hooks.pre_tool_call`, so that a check of tool calls is missing. ' +
      'The owner of the gateway must correct it; `hermes config check` shows it.'
    return { action: 'block', message }
  },
}

/** Accepts both forms of Hermes: `{ action, message }` and `{ decision, reason }`. */
function toPluginResult(id: string, event: string, value: unknown): unknown {
  if (!isRecord(value)) return undefined
  const { decision, message, reason } = value
  const text = [message, reason].find((text) => typeof text === 'string' && text !== '')
  if (decision === 'deny')
    return event === toolCheckEvent ? { action: 'block', message: text ?? `The hook ${id} blocked it.` } : undefined
  if (value['action'] === undefined && (decision === 'approve' || decision === 'modify'))
    return { ...value, action: decision, ...(text === undefined ? {} : { message: text }) }
  const isResult = ['action', 'context', 'override'].some((key) => value[key] !== undefined)
  return isResult && value['action'] !== 'continue' ? value : undefined
}
