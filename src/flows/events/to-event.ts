/**
 * Converts what the gateway observes into events for clients.
 */
import type { HookContext, HookEventName } from '../../message/hook-events.ts'
import { ownWords } from '../../message/own-words.ts'
import type { TurnActivity } from '../../platforms/adapter.ts'
import type { FeedMessage } from '../../sessions/message-feed.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { NewApiEvent } from './api-event.ts'

const maxTextChars = 2_000

/** @param clean takes secrets and hidden characters out of a text */
export function toMessageEvent(message: FeedMessage, clean: (text: string) => string): NewApiEvent {
  // Without the text of skills. Cleaned before it is cut, so that no part of a secret is left.
  const text = clean(message.role === 'user' ? ownWords(message.text) : message.text)
  return {
    type: 'message',
    at: timeText(message.created_at),
    platform: message.platform,
    session_key: message.session_key,
    session_id: message.session_id,
    turn_id: message.turn_id,
    message_id: String(message.id),
    role: message.role,
    text: text.slice(0, maxTextChars).toWellFormed(),
    truncated: text.length > maxTextChars || message.length > message.text.length,
  }
}

/** Undefined for the events that clients are not told of. */
export function toGatewayEvent(
  name: HookEventName,
  context: HookContext,
  now: number,
  clean: (text: string) => string,
): NewApiEvent | undefined {
  return toApprovalEvent(context, timeText(now), clean) ?? toSessionEvent(name, context, timeText(now))
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

function toApprovalEvent(context: HookContext, at: string, clean: (text: string) => string): NewApiEvent | undefined {
  if (!('approval_id' in context)) return undefined
  const { platform, session_key, approval_id, kind, chat_id } = context
  const base = { at, platform, session_key, approval_id, kind, chat_id }
  if ('choices' in context) {
    return { type: 'approval_requested', ...base, text: clean(context.message), choices: context.choices }
  }
  const { outcome, answer, resolved_by } = context
  return { type: 'approval_resolved', ...base, outcome, answer, resolved_by }
}

function toSessionEvent(name: HookEventName, context: HookContext, at: string): NewApiEvent | undefined {
  if (!('session_key' in context)) return undefined
  const { platform, session_key } = context
  const reason = 'reason' in context ? (context.reason ?? '') : ''
  if (name === 'session:end') return { type: 'session_ended', at, platform, session_key, reason }
  if (name !== 'session:start' || !('session_id' in context)) return undefined
  return { type: 'session_started', at, platform, session_key, session_id: context.session_id, reason }
}

export function toTurnEvent(
  { id, sessionKey, sessionId, event }: Turn,
  activity: TurnActivity,
  now: number,
): NewApiEvent {
  const { platform } = event.source
  const base = { at: timeText(now), platform, session_key: sessionKey, session_id: sessionId, turn_id: id }
  if (activity.kind === 'turn-started') return { type: 'turn_started', ...base }
  if (activity.kind === 'turn-ended') return { type: 'turn_ended', ...base, status: activity.status }
  const call = { ...base, call_id: activity.callId, tool: activity.tool }
  if (activity.kind === 'tool-started') return { type: 'tool_started', ...call, label: activity.label }
  return { type: 'tool_ended', ...call, ok: activity.ok, summary: activity.summary }
}

export function toJobEvent(id: string, name: string, slot: number, now: number): NewApiEvent {
  return { type: 'job_fired', at: timeText(now), platform: 'cron', job_id: id, name, scheduled_for: timeText(slot) }
}
