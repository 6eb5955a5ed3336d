/**
 * Gateway events on their way to those who watch: hooks, and listeners within the process.
 */
import type { HookRegistry } from '../hooks/registry.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { HookEventListener } from '../message/hook-events.ts'

export interface GatewayEventsDeps {
  readonly listeners: readonly HookEventListener[]
  /** Undefined where none are loaded. Asked at each event: hooks send messages, and messages are events. */
  hooks(): Pick<HookRegistry, 'emit'> | undefined
  readonly log: Logger
}

export interface GatewayEvents {
  /** Tells hooks and listeners. */
  readonly emit: HookEventListener
  /** Tells listeners within the process, without the hooks. */
  readonly notifyListeners: HookEventListener
}

export function createGatewayEvents({ listeners, hooks, log }: GatewayEventsDeps): GatewayEvents {
  const notifyListeners: HookEventListener = (name, context) => {
    for (const listener of listeners) {
      try {
        listener(name, context)
      } catch (error) {
        // Who only watches must never cost a reply: a throw from here would end the turn that was telling of itself.
        log.error({ event: name, error }, `a listener of gateway events failed: ${messageOf(error)}`)
      }
    }
  }
  return {
    emit(name, context) {
      hooks()?.emit(name, context)
      notifyListeners(name, context)
    },
    notifyListeners,
  }
}
