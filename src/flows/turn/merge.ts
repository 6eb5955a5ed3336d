/**
 * Merges messages of one author that wait into one turn. Which messages belong together was decided and stored when they were
 * accepted. Loaded with the first of them.
 */
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { bindMessage, listWaitingMessages, storeMergedEvent } from '../../inbox/waiting-messages.ts'
import { isSameAuthority } from '../../message/authority.ts'
import type { MessageEvent } from '../../message/event.ts'
import { addTurnInput } from '../../sessions/turns.ts'
import { type ClaimRules, currentAuthority, hasUnpreparedFiles, type MergeFollowing } from './claim.ts'

/** What does not fit begins a turn of its own. */
const maxMergedChars = 64_000
const maxMergedFiles = 20

type AuthorityRules = Pick<ClaimRules, 'authorityOf' | 'lowerAuthority' | 'transcribes'>

interface QueuedEvent {
  readonly seq: number
  readonly event: MessageEvent
}

export function createMerge(rules: AuthorityRules): MergeFollowing {
  return function* (key, head) {
    const group: QueuedEvent[] = [head]
    for (const { seq, joins, tries, crashes, payload } of yield* listWaitingMessages(key, head.seq)) {
      const event = parseStoredEvent(payload)
      // Attempts are counted for the head of a turn, so that a message that may be harmful gets a turn of its own.
      if (joins !== 1 || tries + crashes > 0 || !belongsTo(rules, group, event)) break
      group.push({ seq, event })
    }
    const unprepared = group.find(({ event }) => hasUnpreparedFiles(rules, event))
    const event = mergeEvents(group.map((queued) => queued.event))
    const joined = group.slice(1)
    return {
      event,
      unprepared: unprepared && { ...unprepared, joined: othersOf(group, unprepared) },
      *bind(turnId) {
        if (joined.length === 0) return
        // A later attempt, and a dead letter, must have the whole text.
        yield* storeMergedEvent(head.seq, JSON.stringify(event))
        for (const { seq } of joined) {
          yield* bindMessage(seq, turnId)
          yield* addTurnInput(turnId, seq, 'merged')
        }
      },
    }
  }
}

function othersOf(group: readonly QueuedEvent[], { seq }: QueuedEvent): number[] {
  return group.flatMap((queued) => (queued.seq === seq ? [] : [queued.seq]))
}

function belongsTo(rules: AuthorityRules, group: readonly QueuedEvent[], event: MessageEvent): boolean {
  const [head] = group
  if (head === undefined) return false
  // The model reads what is quoted before the whole text.
  if (event.replyTo?.text !== undefined || event.attachments?.some(({ quoted }) => quoted === true) === true)
    return false
  if (!isSameAuthority(currentAuthority(rules, head.event), currentAuthority(rules, event))) return false
  const events = [...group.map((queued) => queued.event), event]
  const chars = events.reduce((sum, { text }) => sum + text.length, 0)
  const files = events.reduce((sum, { attachments = [] }) => sum + attachments.length, 0)
  return chars <= maxMergedChars && files <= maxMergedFiles
}

/** The texts and captions are joined by line breaks, and the files are put together. The reply refers to the newest message. */
function mergeEvents(events: readonly MessageEvent[]): MessageEvent {
  const [first] = events
  const last = events.at(-1)
  if (first === undefined || last === undefined) throw new Error('there is no message to merge')
  if (first === last) return first
  const attachments = events.flatMap((event) => event.attachments ?? [])
  const files = events.find((event) => event.attachments !== undefined)
  return {
    ...first,
    text: events
      .map(({ text }) => text)
      .filter((text) => text !== '')
      .join('\n'),
    messageType: files?.messageType ?? first.messageType,
    timestamp: last.timestamp,
    // A line of a message that begins with a slash is no command.
    allowGatewayControl: false,
    messageId: last.messageId ?? first.messageId,
    ...(attachments.length === 0 ? {} : { attachments }),
  }
}
