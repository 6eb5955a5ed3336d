/**
 * What becomes of a message that nobody has seen: the first `pre_gateway_dispatch` answer that is understood counts.
 */

import { isRecord } from '../../lib/json.ts'
import { type MessageEvent, parseCommand } from '../../message/event.ts'
import type { HookResult } from '../hooks/plugin-hooks.ts'
import type { OnInvalidResult } from './hook-results.ts'

export type DispatchDecision =
  | { readonly kind: 'pass'; readonly event: MessageEvent }
  | { readonly kind: 'skip'; readonly reason: string }

export function resolveDispatchDecision(
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

/** Words may become a command, and a command words. Files keep their kind. */
function withText(event: MessageEvent, text: string): MessageEvent {
  const isText = event.messageType === 'text' || event.messageType === 'command'
  if (!isText) return { ...event, text }
  const messageType = parseCommand({ ...event, text }) === null ? 'text' : 'command'
  return { ...event, text, messageType }
}
