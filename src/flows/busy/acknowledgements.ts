/**
 * Tells a person what happens to a message that arrived while the agent was working.
 */
import { formatDuration } from '../../lib/duration.ts'
import { hasWaitingUser, type MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import { targetOf } from '../../message/source.ts'
import type { SessionSettings } from '../../sessions/session-state.ts'
import type { OpenTurn } from '../../sessions/turns.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { BusyDecision } from './decide.ts'
import type { BusyDeps } from './deps.ts'

export interface Acknowledged {
  readonly key: SessionKey
  readonly event: MessageEvent
  readonly seq: number
  readonly decision: BusyDecision
  /** Undefined: the message waits for other reasons than a turn. */
  readonly open: OpenTurn | undefined
  /** That the turn runs now. */
  readonly tools: readonly string[]
  /** The turn must not be interrupted now. */
  readonly isProtected: boolean
  /** Other messages that wait have their turns first. */
  readonly isBehind: boolean
  /** What people have chosen for the conversation. */
  readonly chosen: SessionSettings
}

/** A conversation gets the tip about `/busy` once, unless its people know the command. */
export function needsTip({ chosen }: Acknowledged): boolean {
  return chosen.busy_tip === undefined && chosen.busy_input_mode === undefined
}

/** A burst of messages is acknowledged once. */
const pauseMs = 30_000
/** Conversations whose last acknowledgement is remembered. */
const maxRemembered = 1_000
/** A shorter turn needs no details. */
const minDetailMs = 60_000

export function createAcknowledgements({ outbox, settings, clock }: Pick<BusyDeps, 'outbox' | 'settings' | 'clock'>) {
  const sentAt = new Map<SessionKey, number>()

  function isWanted({ key, event, decision, open }: Acknowledged, now: number): boolean {
    const { display } = settings()
    if (!display.busy_ack_enabled || open === undefined || !hasWaitingUser(event)) return false
    // An operator who has set the old key to `queue` wants to hear nothing.
    if (display.busy_text_mode === 'queue' && event.busyMode === undefined) return false
    if (decision.steers && !display.busy_steer_ack_enabled) return false
    const last = sentAt.get(key)
    return last === undefined || now - last >= pauseMs || now < last
  }

  return {
    /** Undefined when nothing is to be said. */
    prepare(told: Acknowledged, now: number): TransactionPart | undefined {
      if (!isWanted(told, now)) return undefined
      const { event, seq } = told
      const tip = needsTip(told) ? `\n\n${tipText}` : ''
      return outbox.prepare({
        key: `busy:${seq}`,
        target: targetOf(event.source),
        kind: 'notice',
        text: `${acknowledgementText(told)}${detailOf(told, now, settings().display.busy_ack_detail)}${tip}`,
        replyTo: event.messageId,
      })
    },
    sent(key: SessionKey): void {
      sentAt.delete(key)
      sentAt.set(key, clock())
      for (const oldest of sentAt.keys()) if (sentAt.size > maxRemembered) sentAt.delete(oldest)
    },
  }
}

function acknowledgementText({ decision: { interrupts, steers }, isProtected, isBehind }: Acknowledged): string {
  if (interrupts && isBehind) return '⚡ I interrupt what I am doing. I take your message after those that wait.'
  if (interrupts) return '⚡ I interrupt what I am doing and take your message next.'
  if (steers) return '⏩ I read your message after the current step.'
  if (isProtected) return '⏳ I must not be interrupted now. Your message is queued.'
  return '⏳ Queued: I take your message when I am done.'
}

const tipText = 'Tip: `/busy queue`, `steer`, `collect` or `interrupt` chooses what your messages do while I work.'

function detailOf({ open, tools }: Acknowledged, now: number, isWanted: boolean): string {
  const ageMs = open === undefined ? 0 : now - open.started_at
  if (!isWanted || ageMs < minDetailMs) return ''
  const running = tools.length === 0 ? '' : `, running ${tools.join(', ')}`
  return ` (working for ${formatDuration(ageMs)}${running})`
}
