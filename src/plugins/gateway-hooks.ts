/**
 * Calls the plugin hooks of the gateway outside of agent turns: received messages, commands, approvals, sessions
 * (contract §2.6). Only `preDispatch` waits for plugins. Notifications wait until the plugins are loaded.
 */
import type { ApprovalInfo, ApprovalListener } from '../approvals/contract.ts'
import { HermesError } from '../lib/errors.ts'
import { isRecord } from '../lib/json.ts'
import type { Logger } from '../lib/log.ts'
import type { Role } from '../message/authority.ts'
import type { MessageChange } from '../message/change.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { commandLinePlatform, type SessionSource } from '../message/source.ts'
import { changePayload, eventPayload, sourceOfChange } from './extension-points/event-payload.ts'
import { createInvalidResultLog, type OnInvalidResult } from './extension-points/results.ts'
import type { HookName, HookPayloads } from './hook-map.ts'
import type { HookDispatchContext, HookResult, PluginHooks } from './hooks/plugin-hooks.ts'

/** The effect of `pre_gateway_dispatch` on a received message. */
export type DispatchDecision =
  | { readonly kind: 'pass'; readonly event: MessageEvent }
  | { readonly kind: 'skip'; readonly reason: string }

/** The plugins that are loaded while the gateway works already. */
export interface LoadingPlugins {
  /** True when they are loaded or have failed, false when the gateway stops before that. Never rejects. */
  readonly done: Promise<boolean>
  /** Whether one of them may register `pre_gateway_dispatch`. */
  readonly mayPreDispatch: boolean
}

export interface GatewayHooksDeps {
  readonly hooks: PluginHooks
  /** `<platform>_<chat_type>`; '' on the command line. */
  routeOf(source: SessionSource): string
  /** Null for a sender without access. */
  roleOf(source: SessionSource): Role | null
  /** Undefined when all plugins are loaded. */
  loading(): LoadingPlugins | undefined
  /** Whether the event is a slash command that does not exist. */
  isUnknownCommand(event: MessageEvent): boolean
  readonly log: Logger
}

export interface ReplacedSession {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  /** Null without a previous session. */
  readonly oldSessionId: string | null
  readonly newSessionId: string
  /** `new`, `idle` ... */
  readonly reason: string
}

/** `approvalRequested` calls `pre_approval_request`, `approvalResolved` calls `post_approval_response`. */
export interface GatewayHooks extends ApprovalListener {
  /** Whether a plugin has registered `pre_gateway_dispatch`, or may still do so. */
  hasPreDispatchHooks(): boolean
  /**
   * `pre_gateway_dispatch`, before access is checked. Waits for plugins that are still loading if one of them may register
   * this hook, or the command of the event. Rejects `http/starting` when the gateway stops before they are loaded.
   */
  preDispatch(event: MessageEvent, sessionKey: SessionKey): Promise<DispatchDecision>
  /** `gateway_platform_event`: an edit, a deletion or a reaction was accepted. */
  messageChanged(change: MessageChange, sessionKey: SessionKey): void
  /** `pre_command`. */
  commandReceived(called: {
    readonly sessionKey: SessionKey
    readonly source: SessionSource
    /** The canonical name. */
    readonly name: string
    readonly rawCommand: string
    readonly args: string
  }): void
  /** `on_session_finalize` of the old session, then `on_session_reset` to the new one. */
  sessionReplaced(replaced: ReplacedSession): void
  /** `on_session_finalize` for all sessions: the gateway stops. Call it after all other notifications were delivered. */
  gatewayStopping(): void
}

/** Notifications without a session have a queue of their own. */
const noSessionContext: HookDispatchContext = { route: '', queueKey: '' }

export function createGatewayHooks(deps: GatewayHooksDeps): GatewayHooks {
  const { hooks, routeOf, roleOf, loading, isUnknownCommand, log } = deps
  const onInvalidResultOf = createInvalidResultLog(log)

  function notify<Name extends HookName>(name: Name, at: HookDispatchContext, payload: () => HookPayloads[Name]): void {
    const plugins = loading()
    if (plugins === undefined) hooks.notify(name, at, payload)
    else void plugins.done.then(() => hooks.notify(name, at, payload))
  }

  function dispatchContext(source: SessionSource, sessionKey: SessionKey): HookDispatchContext {
    return { route: routeOf(source), queueKey: sessionKey }
  }

  function surfaceOf({ platform }: SessionSource): 'cli' | 'gateway' {
    return platform === commandLinePlatform ? 'cli' : 'gateway'
  }

  function approvalKeys({ sessionKey, source, about }: ApprovalInfo) {
    return {
      command: about.command,
      description: about.description,
      pattern_key: about.patternKeys[0] ?? '',
      pattern_keys: about.patternKeys,
      session_key: sessionKey,
      surface: surfaceOf(source),
      turn_id: about.turnId,
      tool_call_id: about.toolCallId,
    }
  }

  return {
    hasPreDispatchHooks: () => loading() !== undefined || hooks.hasListeners('pre_gateway_dispatch'),

    async preDispatch(event, sessionKey) {
      if (event.internal === true) return { kind: 'pass', event }
      const plugins = loading()
      const mustWait = plugins !== undefined && (plugins.mayPreDispatch || isUnknownCommand(event))
      if (mustWait && !(await plugins.done)) throw new HermesError('http/starting')
      const results = await hooks.collect('pre_gateway_dispatch', dispatchContext(event.source, sessionKey), () => ({
        event: eventPayload(event),
        session_key: sessionKey,
        role: roleOf(event.source),
      }))
      return resolveDispatchDecision(results, event, onInvalidResultOf('pre_gateway_dispatch'))
    },

    messageChanged(change, sessionKey) {
      const source = sourceOfChange(change)
      notify('gateway_platform_event', dispatchContext(source, sessionKey), () => ({
        platform: source.platform,
        ...changePayload(change),
      }))
    },

    commandReceived({ sessionKey, source, name, rawCommand, args }) {
      notify('pre_command', dispatchContext(source, sessionKey), () => ({
        surface: surfaceOf(source),
        command: name,
        alias_used: rawCommand,
        args_raw: args,
        session_key: sessionKey,
        platform: source.platform,
      }))
    },

    approvalRequested(question) {
      notify('pre_approval_request', dispatchContext(question.source, question.sessionKey), () =>
        approvalKeys(question),
      )
    },
    approvalResolved(question, choice, decidedBy) {
      notify('post_approval_response', dispatchContext(question.source, question.sessionKey), () => ({
        ...approvalKeys(question),
        choice,
        decided_by: decidedBy,
      }))
    },

    sessionReplaced({ sessionKey, source, oldSessionId, newSessionId, reason }) {
      const at = dispatchContext(source, sessionKey)
      const { platform } = source
      const ids = { platform, reason, old_session_id: oldSessionId, new_session_id: newSessionId }
      notify('on_session_finalize', at, () => ({ session_id: oldSessionId, ...ids }))
      notify('on_session_reset', at, () => ({ session_id: newSessionId, ...ids }))
    },

    gatewayStopping() {
      notify('on_session_finalize', noSessionContext, () => ({
        session_id: null,
        platform: '',
        reason: 'shutdown',
        old_session_id: null,
        new_session_id: null,
      }))
    },
  }
}

/** The first valid result of `pre_gateway_dispatch` decides. */
function resolveDispatchDecision(
  results: readonly HookResult[],
  event: MessageEvent,
  onInvalidResult: OnInvalidResult,
): DispatchDecision {
  for (const { owner, value } of results) {
    const { action, reason, text }: Readonly<Record<string, unknown>> = isRecord(value) ? value : {}
    if (action === 'allow') return { kind: 'pass', event }
    if (action === 'skip')
      return {
        kind: 'skip',
        reason: typeof reason === 'string' && reason !== '' ? reason : `skipped by plugin ${owner}`,
      }
    if (action === 'rewrite' && typeof text === 'string') return { kind: 'pass', event: withText(event, text) }
    if (action !== undefined || !isRecord(value))
      onInvalidResult(owner, 'expected { action: "skip", reason? }, { action: "rewrite", text } or { action: "allow" }')
  }
  return { kind: 'pass', event }
}

/** A text message may become a command and the reverse. Messages of other types, such as photos, keep their type. */
function withText(event: MessageEvent, text: string): MessageEvent {
  const isText = event.messageType === 'text' || event.messageType === 'command'
  if (!isText) return { ...event, text }
  const messageType = parseCommand({ ...event, text }) === null ? 'text' : 'command'
  return { ...event, text, messageType }
}
