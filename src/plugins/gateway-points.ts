/**
 * What plugins hear and say of the gateway, beside the turns of the agent: messages that come in, commands, questions to
 * people, sessions that end (contract §2.6). Nothing here rejects, and only `screen` waits for anybody.
 */
import type { ApprovalWatchers, WatchedApproval } from '../approvals/room.ts'
import type { Logger } from '../lib/log.ts'
import type { MessageChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import { createComplaints } from './complaints.ts'
import type { Happening, PluginHooks } from './hooks/hooks.ts'
import { changeView, eventView, sourceOfChange } from './points/event-view.ts'
import { type Screening, screeningOf } from './points/screening.ts'

export type { Screening } from './points/screening.ts'

export interface GatewayPointsDeps {
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
export interface GatewayPoints extends ApprovalWatchers {
  /** Whether anybody wants to see messages before they are taken in. */
  screens(): boolean
  /** `pre_gateway_dispatch`, before access is decided. */
  screen(event: MessageEvent, sessionKey: SessionKey): Promise<Screening>
  /** `gateway_platform_event`: an edit, a deletion or a reaction was taken in. */
  changed(change: MessageChange, sessionKey: SessionKey): void
  /** `pre_command`. */
  command(called: {
    readonly sessionKey: SessionKey
    readonly source: SessionSource
    /** The canonical name. */
    readonly name: string
    readonly typed: string
    readonly args: string
  }): void
  /** `on_session_finalize` of the old session, then `on_session_reset` to the new one. */
  sessionReplaced(replaced: ReplacedSession): void
  /** `on_session_finalize`: the gateway stops, and with it every session there is. To be called when all else was heard. */
  stopping(): void
}

/** What belongs to no conversation is heard in an order of its own. */
const nowhere: Happening = { route: '', order: '' }

export function createGatewayPoints({ hooks, routeOf, log }: GatewayPointsDeps): GatewayPoints {
  const complain = createComplaints(log)

  function happening(source: SessionSource, sessionKey: SessionKey): Happening {
    return { route: routeOf(source), order: sessionKey }
  }

  function surfaceOf({ platform }: SessionSource): 'cli' | 'gateway' {
    return platform === 'cli' ? 'cli' : 'gateway'
  }

  function approvalKeys({ sessionKey, source, about }: WatchedApproval) {
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
    screens: () => hooks.has('pre_gateway_dispatch'),

    async screen(event, sessionKey) {
      if (event.internal === true) return { kind: 'pass', event }
      const answers = await hooks.collect('pre_gateway_dispatch', happening(event.source, sessionKey), () => ({
        event: eventView(event),
        session_key: sessionKey,
      }))
      return screeningOf(answers, event, (owner, expected) =>
        complain(owner, `the answer of plugin ${owner} to pre_gateway_dispatch is ignored: ${expected}`),
      )
    },

    changed(change, sessionKey) {
      const source = sourceOfChange(change)
      hooks.tell('gateway_platform_event', happening(source, sessionKey), () => ({
        platform: source.platform,
        ...changeView(change),
      }))
    },

    command({ sessionKey, source, name, typed, args }) {
      hooks.tell('pre_command', happening(source, sessionKey), () => ({
        surface: surfaceOf(source),
        command: name,
        alias_used: typed,
        args_raw: args,
        session_key: sessionKey,
        platform: source.platform,
      }))
    },

    approvalAsked(asked) {
      hooks.tell('pre_approval_request', happening(asked.source, asked.sessionKey), () => approvalKeys(asked))
    },
    approvalEnded(asked, choice, decidedBy) {
      hooks.tell('post_approval_response', happening(asked.source, asked.sessionKey), () => ({
        ...approvalKeys(asked),
        choice,
        decided_by: decidedBy,
      }))
    },

    sessionReplaced({ sessionKey, source, oldSessionId, newSessionId, reason }) {
      const at = happening(source, sessionKey)
      const { platform } = source
      const ids = { platform, reason, old_session_id: oldSessionId, new_session_id: newSessionId }
      hooks.tell('on_session_finalize', at, () => ({ session_id: oldSessionId, ...ids }))
      hooks.tell('on_session_reset', at, () => ({ session_id: newSessionId, ...ids }))
    },

    stopping() {
      hooks.tell('on_session_finalize', nowhere, () => ({
        session_id: null,
        platform: '',
        reason: 'shutdown',
        old_session_id: null,
        new_session_id: null,
      }))
    },
  }
}
