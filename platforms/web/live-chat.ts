/**
 * The live state of a chat: drafts, running turns with their tools, and messages in progress. It is kept in memory with
 * limits; only the history is stored.
 */
import type { ToolCallSummary, TurnActivity } from '#sdk'
import type { DraftEvent, LiveEvent, ToolEvent } from './protocol.ts'

const maxDrafts = 20
const maxTurns = 8
const maxToolsPerTurn = 100
const maxMessages = 64

export interface LiveChat {
  /** Sets the text of a draft. Returns the event for subscribers, or `null` when nothing changed. */
  updateDraft(id: string, turnId: string, text: string): DraftEvent | null
  hasDraft(id: string): boolean
  dropDraft(id: string): boolean
  /** Applies an activity of a turn. Returns the events for subscribers. */
  applyActivity(activity: TurnActivity): LiveEvent[]
  /** Events that bring a new subscriber to the current state. */
  snapshot(): LiveEvent[]
  /** A message was accepted and is queued or in progress. */
  messageStarted(seq: number): void
  messageEnded(seq: number): void
  /**
   * The target of the stop button. A number is the oldest message in progress, which the running turn handles.
   * `unknown`: a turn is running whose message is not known, because it started before this process.
   */
  stopTarget(): number | 'unknown' | undefined
  /** Whether the state is empty and can be dropped. */
  isIdle(): boolean
}

interface RunningTurn {
  /** By call id, in call order. */
  readonly tools: Map<string, ToolEvent>
  /** The turn handles a message that no page has sent. */
  readonly isForeign: boolean
}

/** @param now ms */
export function createLiveChat(now: () => number = Date.now): LiveChat {
  const drafts = new Map<string, { turnId: string; text: string }>()
  const turns = new Map<string, RunningTurn>()
  const seqs = new Map<number, true>()

  return {
    messageStarted(seq) {
      seqs.set(seq, true)
      evictOldest(seqs, maxMessages)
    },
    messageEnded: (seq) => void seqs.delete(seq),
    stopTarget() {
      for (const { isForeign } of turns.values()) if (isForeign) return 'unknown'
      return seqs.keys().next().value
    },
    hasDraft: (id) => drafts.has(id),
    dropDraft: (id) => drafts.delete(id),
    updateDraft(id, turnId, text) {
      const known = drafts.get(id)
      if (known?.text === text) return null
      drafts.set(id, { turnId, text })
      evictOldest(drafts, maxDrafts)
      const at = commonPrefix(known?.text ?? '', text)
      return { type: 'draft', id, turnId, at, text: text.slice(at) }
    },
    applyActivity(activity) {
      const { turnId } = activity
      if (activity.kind === 'turn-ended') {
        turns.delete(turnId)
        return [{ type: 'turn', turnId, state: activity.status }]
      }
      const events: LiveEvent[] = []
      const { tools, isForeign } = turns.get(turnId) ?? { tools: new Map(), isForeign: seqs.size === 0 }
      if (!turns.has(turnId)) {
        turns.set(turnId, { tools, isForeign })
        evictOldest(turns, maxTurns)
        events.push({ type: 'turn', turnId, state: 'running' })
      }
      if (activity.kind !== 'turn-started') {
        const tool = toolEvent(activity, tools.get(activity.callId), now())
        tools.set(tool.callId, tool)
        evictOldest(tools, maxToolsPerTurn)
        events.push(tool)
      }
      return events
    },
    snapshot() {
      const events: LiveEvent[] = []
      for (const [turnId, { tools }] of turns) {
        events.push({ type: 'turn', turnId, state: 'running' }, ...tools.values())
      }
      for (const [id, { turnId, text }] of drafts) events.push({ type: 'draft', id, turnId, at: 0, text })
      return events
    },
    isIdle: () => drafts.size === 0 && turns.size === 0 && seqs.size === 0,
  }
}

function evictOldest<Key>(map: Map<Key, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return
    map.delete(key)
  }
}

function toolEvent(
  activity: Extract<TurnActivity, { kind: 'tool-started' | 'tool-ended' }>,
  known: ToolEvent | undefined,
  now: number,
): ToolEvent {
  const { turnId, callId, tool } = activity
  const common = { type: 'tool', turnId, callId, tool, startedAt: known?.startedAt ?? now } as const
  if (activity.kind === 'tool-started') return { ...common, label: activity.label, state: 'running', summary: '' }
  const { ok, summary } = activity
  return { ...common, label: known?.label ?? '', state: ok ? 'done' : 'failed', summary, endedAt: now }
}

/** A call of the history. */
export function storedToolEvent(call: ToolCallSummary): ToolEvent {
  return { type: 'tool', ...call }
}

/**
 * The number of leading UTF-16 units that two texts share. It may split a surrogate pair: JSON escapes the halves, and the
 * page joins them again.
 */
function commonPrefix(known: string, next: string): number {
  if (next.startsWith(known)) return known.length
  const max = Math.min(known.length, next.length)
  let at = 0
  while (at < max && known.charCodeAt(at) === next.charCodeAt(at)) at += 1
  return at
}
