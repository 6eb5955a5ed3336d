/**
 * What happens in one chat right now: drafts being written, running turns, their tools, messages at work.
 *
 * Nothing here is stored, and everything is bounded: the history is the truth, this is what makes it move.
 */
import type { TurnActivity } from '#sdk'
import type { DraftEvent, LiveEvent, ToolEvent } from './protocol.ts'

const maxDrafts = 20
const maxTurns = 8
const maxToolsPerTurn = 100
const maxMessages = 64

export interface LiveChat {
  /** Takes the new text of a draft; returns the event for those who watch, or null when nothing changed. */
  updateDraft(id: string, turnId: string, text: string): DraftEvent | null
  hasDraft(id: string): boolean
  dropDraft(id: string): boolean
  /** Takes what a turn does; returns the events for those who watch. */
  applyActivity(activity: TurnActivity): LiveEvent[]
  /** Everything a newcomer must be told to see what the others see. */
  snapshot(): LiveEvent[]
  /** An accepted message is being worked on, or waits for it. */
  messageStarted(seq: number): void
  messageEnded(seq: number): void
  /**
   * What a stop button stops. A number: the oldest message at work, which the running turn works on; later ones wait
   * behind it. `unknown`: a turn runs whose message is not known here, because it began before this process did.
   */
  stopTarget(): number | 'unknown' | undefined
  /** Nothing moves here: the state may be forgotten. */
  isIdle(): boolean
}

interface RunningTurn {
  /** By call id, in call order. */
  readonly tools: Map<string, ToolEvent>
  /** Nobody here sent the message it works on. */
  readonly isForeign: boolean
}

export function createLiveChat(): LiveChat {
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
        const tool = toolEvent(activity, tools.get(activity.callId))
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

/** Forgets the oldest. */
function evictOldest<Key>(map: Map<Key, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return
    map.delete(key)
  }
}

function toolEvent(
  activity: Extract<TurnActivity, { kind: 'tool-started' | 'tool-ended' }>,
  known: ToolEvent | undefined,
): ToolEvent {
  const { turnId, callId, tool } = activity
  if (activity.kind === 'tool-started') {
    return { type: 'tool', turnId, callId, tool, label: activity.label, state: 'running', summary: '' }
  }
  const { ok, summary } = activity
  return { type: 'tool', turnId, callId, tool, label: known?.label ?? '', state: ok ? 'done' : 'failed', summary }
}

/**
 * How many leading UTF-16 units two texts share. It may fall inside a surrogate pair: JSON carries halves as escapes,
 * and the page puts them together again.
 */
function commonPrefix(known: string, next: string): number {
  if (next.startsWith(known)) return known.length
  const max = Math.min(known.length, next.length)
  let at = 0
  while (at < max && known.charCodeAt(at) === next.charCodeAt(at)) at += 1
  return at
}
