/**
 * What plugins hear and say of the gateway, beside the turns of the agent: messages that come in, commands, questions to
 * people, sessions that end (contract §2.6). Nothing here rejects, and only `screen` waits for anybody.
 */
import type { ApprovalInfo, ApprovalListener } from '../approvals/after-commit.ts'
import type { Logger } from '../lib/log.ts'
import type { MessageChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import { type DispatchDecision, resolveDispatchDecision } from './extension-points/dispatch-decision.ts'
import { changePayload, eventPayload, sourceOfChange } from './extension-points/event-payload.ts'
import type { HookDispatchContext, PluginHooks } from './hooks/plugin-hooks.ts'
import { createWarnOnce } from './warn-once.ts'

export type { DispatchDecision } from './extension-points/dispatch-decision.ts'

export interface GatewayHooksDeps {
  readonly hooks: PluginHooks
  /** `<platform>_<chat_type>`; '' on the command line. */
  routeOf(source: SessionSource): string
  readonly log: Logger
}

export interface ReplacedSession {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  /** Null where there was none. */
  readonly oldSessionId: string | null
  readonly newSessionId: string
  /** `new`, `idle` … */
  readonly reason: string
}

/** `approvalAsked` is `pre_approval_request`, `approvalEnded` is `post_approval_response`. */
export interface GatewayHooks extends ApprovalListener {
  /** Whether anybody wants to see messages before they are taken in. */
  hasPreDispatchHooks(): boolean
  /** `pre_gateway_dispatch`, before access is decided. */
  preDispatch(event: MessageEvent, sessionKey: SessionKey): Promise<DispatchDecision>
  /** `gateway_platform_event`: an edit, a deletion or a reaction was taken in. */
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
  /** `on_session_finalize`: the gateway stops, and with it every session there is. To be called when all else was heard. */
  gatewayStopping(): void
}

/** What belongs to no conversation is heard in an order of its own. */
const noSessionContext: HookDispatchContext = { route: '', queueKey: '' }

export function createGatewayHooks({ hooks, routeOf, log }: GatewayHooksDeps): GatewayHooks {
  const warnOnce = createWarnOnce(log)

  function dispatchContext(source: SessionSource, sessionKey: SessionKey): HookDispatchContext {
    return { route: routeOf(source), queueKey: sessionKey }
  }

  function surfaceOf({ platform }: SessionSource): 'cli' | 'gateway' {
    return platform === 'cli' ? 'cli' : 'gateway'
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
    hasPreDispatchHooks: () => hooks.hasListeners('pre_gateway_dispatch'),

    async preDispatch(event, sessionKey) {
      if (event.internal === true) return { kind: 'pass', event }
      const answers = await hooks.collect('pre_gateway_dispatch', dispatchContext(event.source, sessionKey), () => ({
        event: eventPayload(event),
        session_key: sessionKey,
      }))
      return resolveDispatchDecision(answers, event, (owner, expected) =>
        warnOnce(owner, `the answer of plugin ${owner} to pre_gateway_dispatch is ignored: ${expected}`),
      )
    },

    messageChanged(change, sessionKey) {
      const source = sourceOfChange(change)
      hooks.notify('gateway_platform_event', dispatchContext(source, sessionKey), () => ({
        platform: source.platform,
        ...changePayload(change),
      }))
    },

    commandReceived({ sessionKey, source, name, rawCommand, args }) {
      hooks.notify('pre_command', dispatchContext(source, sessionKey), () => ({
        surface: surfaceOf(source),
        command: name,
        alias_used: rawCommand,
        args_raw: args,
        session_key: sessionKey,
        platform: source.platform,
      }))
    },

    approvalRequested(asked) {
      hooks.notify('pre_approval_request', dispatchContext(asked.source, asked.sessionKey), () => approvalKeys(asked))
    },
    approvalResolved(asked, choice, decidedBy) {
      hooks.notify('post_approval_response', dispatchContext(asked.source, asked.sessionKey), () => ({
        ...approvalKeys(asked),
        choice,
        decided_by: decidedBy,
      }))
    },

    sessionReplaced({ sessionKey, source, oldSessionId, newSessionId, reason }) {
      const at = dispatchContext(source, sessionKey)
      const { platform } = source
      const ids = { platform, reason, old_session_id: oldSessionId, new_session_id: newSessionId }
      hooks.notify('on_session_finalize', at, () => ({ session_id: oldSessionId, ...ids }))
      hooks.notify('on_session_reset', at, () => ({ session_id: newSessionId, ...ids }))
    },

    gatewayStopping() {
      hooks.notify('on_session_finalize', noSessionContext, () => ({
        session_id: null,
        platform: '',
        reason: 'shutdown',
        old_session_id: null,
        new_session_id: null,
      }))
    },
  }
}
