/**
 * Gateway events on their way to hooks and to listeners within the process.
 */
import type { HookRegistry } from '../../hooks/registry.ts'
import type { Logger } from '../../lib/log.ts'
import { type HookContext, type HookEventListener, truncateForHooks } from '../../message/hook-events.ts'
import { isReservedPlatform, type SessionSource } from '../../message/source.ts'
import type { FinishedMessage } from '../../outbox/context.ts'
import type { TurnActivity } from '../../platforms/adapter.ts'
import type { GatewayHooks } from '../../plugins/gateway-hooks.ts'
import { platformOf } from '../../sessions/session-key.ts'
import type { Turn } from '../../sessions/turn.ts'

export interface GatewayEventsDeps {
  readonly listeners: readonly HookEventListener[]
  /** Whether the platform has its gateway events emitted. */
  emitsEvents(source: Pick<SessionSource, 'platform'>): boolean
  readonly log: Logger
}

/**
 * Sees what happens on every platform, also on those whose gateway events hooks do not receive. Each function is optional. None
 * may throw or wait.
 */
export interface GatewayObserver {
  readonly event?: HookEventListener
  activity?(turn: Turn, activity: TurnActivity): void
  /** @param slot the time for which the job runs, ms */
  jobFired?(job: { readonly id: string; readonly name: string }, slot: number): void
  /** A message was delivered or became a dead letter. */
  finished?(message: FinishedMessage): void
  /** Something that has no event of its own has changed, such as the health of a platform. @param topic see `change-feed.ts` */
  changed?(topic: string): void
}

export interface GatewayEvents {
  /** Whether an event of this platform has a receiver. While there is none, none is built. */
  emitsEvents(source: Pick<SessionSource, 'platform'>): boolean
  /** Whether an event about a message of this platform has one: such events are only those that hooks receive. */
  emitsMessageEvents(source: Pick<SessionSource, 'platform'>): boolean
  /** Adds an observer until the returned function is called. While there is none, nothing is done for it. */
  observe(observer: GatewayObserver): () => void
  readonly activity: NonNullable<GatewayObserver['activity']>
  readonly jobFired: NonNullable<GatewayObserver['jobFired']>
  readonly changed: NonNullable<GatewayObserver['changed']>
  /** Notifies hooks and listeners. */
  readonly emit: HookEventListener
  /** The hooks are made later: they send messages, and messages are events. */
  connectHooks(hooks: Pick<HookRegistry, 'emit' | 'subscribed'>): void
  /** Notifies listeners within the process, without the hooks. */
  readonly notifyListeners: HookEventListener
  /** Emits `message:sent` or `message:failed`. */
  messageFinished(message: FinishedMessage): void
}

export function createGatewayEvents({ listeners, emitsEvents, log }: GatewayEventsDeps): GatewayEvents {
  const observers = new Set<GatewayObserver>()
  let hooks: Pick<HookRegistry, 'emit' | 'subscribed'> | undefined
  const isHeard = () => listeners.length > 0 || (hooks !== undefined && hooks.subscribed.size > 0)
  const emitsMessageEvents: GatewayEventsDeps['emitsEvents'] = (source) =>
    (observers.size > 0 || isHeard()) && emitsEvents(source)
  const notifyListeners: HookEventListener = (name, context) => {
    for (const listener of listeners) {
      try {
        listener(name, context)
      } catch (error) {
        // A listener only watches: its failure must not end the turn that emitted the event.
        log.error({ event: 'event.listener_failed', name, err: error }, 'a listener of gateway events failed')
      }
    }
  }
  const emit: HookEventListener = (name, context) => {
    for (const observer of observers) observer.event?.(name, context)
    if (observers.size > 0 && !isForHooks(context, emitsEvents)) return
    hooks?.emit(name, context)
    notifyListeners(name, context)
  }
  return {
    emitsEvents: (source) => observers.size > 0 || emitsMessageEvents(source),
    emitsMessageEvents,
    observe(observer) {
      observers.add(observer)
      return () => void observers.delete(observer)
    },
    activity(turn, activity) {
      for (const observer of observers) observer.activity?.(turn, activity)
    },
    jobFired(job, slot) {
      for (const observer of observers) observer.jobFired?.(job, slot)
    },
    changed(topic) {
      for (const observer of observers) observer.changed?.(topic)
    },
    emit,
    connectHooks(connected) {
      hooks = connected
    },
    notifyListeners,
    messageFinished(message) {
      for (const observer of observers) observer.finished?.(message)
      if (emitsMessageEvents(message.target)) emitDeliveryEvent(message, emit)
    },
  }
}

/** An observer has the events of all platforms emitted. */
function isForHooks(context: HookContext, emitsEvents: GatewayEventsDeps['emitsEvents']): boolean {
  return !('platform' in context) || emitsEvents(context)
}

/**
 * Messages of hooks emit no event: two hooks that answer each other would never end. Replies of background tasks emit none
 * either (src/flows/tasks/background-tasks.ts).
 */
function emitDeliveryEvent(message: FinishedMessage, emit: HookEventListener): void {
  const { key, target, sessionKey, kind, text, messageId, error } = message
  if (key.startsWith(hookMessagePrefix)) return
  if (sessionKey !== null && isReservedPlatform(platformOf(sessionKey))) return
  const context = {
    platform: target.platform,
    chat_id: target.chatId,
    thread_id: target.threadId ?? '',
    session_key: sessionKey ?? '',
    kind,
    message: truncateForHooks(text),
    message_full: text,
  }
  if (error === undefined) emit('message:sent', { ...context, message_id: messageId ?? '' })
  else emit('message:failed', { ...context, error })
}

const noop = () => undefined

/** The hooks of plugins while there are no plugins. */
export const noopGatewayHooks: GatewayHooks = {
  hasPreDispatchHooks: () => false,
  preDispatch: async (event) => ({ kind: 'pass', event }),
  messageChanged: noop,
  commandReceived: noop,
  approvalRequested: noop,
  approvalResolved: noop,
  sessionReplaced: noop,
  gatewayStopping: noop,
}

/** Prefix of the outbox keys of messages that hooks send. */
export const hookMessagePrefix = 'hook:'
