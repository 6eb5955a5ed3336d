/**
 * Steers waiting messages into the running turn: the model reads them after the results of its tools. Loaded with the first
 * message that is steered.
 */
import { detachFollowing } from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { bindMessage, listWaitingMessages } from '../../inbox/waiting-messages.ts'
import { isSameAuthority } from '../../message/authority.ts'
import { formatUserText, isSpoken, type MessageEvent } from '../../message/event.ts'
import type { ChatMessage } from '../../message/transcript.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import type { SteeredMessages } from '../../sessions/running-turns.ts'
import { checkFence } from '../../sessions/session-state.ts'
import { appendMessage } from '../../sessions/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import { addTurnInput } from '../../sessions/turns.ts'
import type { Transaction } from '../../store/query.ts'
import { type ClaimRules, currentAuthority, hasUnpreparedFiles } from './claim.ts'

type SteerRules = Pick<ClaimRules, 'authorityOf' | 'lowerAuthority' | 'isShared' | 'transcribes'>

export interface Steered extends SteeredMessages<ChatMessage> {
  /** Voice messages that can be steered once they are transcribed. */
  readonly unprepared: readonly { readonly seq: number; readonly event: MessageEvent }[]
}

/**
 * Takes the waiting messages that are to be steered into the transcript, from the ordinal `ord` on, and binds them to the turn.
 * They overtake messages that wait for a turn of their own. A message of another author, or with less than the rights of the
 * turn, stays in the queue. Throws `store/fenced`.
 */
export function* takeSteered(rules: SteerRules, turn: Turn, ord: number, now: number): Transaction<Steered> {
  yield* checkFence(turn.fence)
  const taken: ChatMessage[] = []
  const unprepared: Steered['unprepared'][number][] = []
  let chars = 0
  for (const { seq, busy_mode, payload } of yield* listWaitingMessages(turn.sessionKey)) {
    if (busy_mode !== 'steer') continue
    const event = parseStoredEvent(payload)
    if (event.attachments !== undefined && !isSpoken(event)) continue
    if (!isSameAuthority(turn.authority, currentAuthority(rules, event))) continue
    if (hasUnpreparedFiles(rules, event)) {
      unprepared.push({ seq, event })
      continue
    }
    const message = { role: 'user' as const, content: steeredText(event, rules.isShared(event.source)) }
    chars += message.content.length
    if (taken.length > 0 && chars > maxChars) return { messages: taken, hasMore: true, unprepared }
    // What was to join it would otherwise join an earlier message.
    yield* detachFollowing(seq, turn.sessionKey)
    yield* bindMessage(seq, turn.id)
    yield* addTurnInput(turn.id, seq, 'steered')
    yield* appendMessage({ sessionId: turn.sessionId, turnId: turn.id, ord: ord + taken.length, message }, now)
    taken.push(message)
  }
  return { messages: taken, hasMore: false, unprepared }
}

const maxNameChars = 64
/** What does not fit waits for the next tool. */
const maxChars = 64_000

/** The origin is data for the model; it gives no rights. */
function steeredText(event: MessageEvent, isShared: boolean): string {
  const { platform, userId = '', userName = '' } = event.source
  const origin = { platform, user_id: userId, user_name: toLabel(userName, maxNameChars) }
  return `[Sent while you work, by ${JSON.stringify(origin)}]\n${formatUserText(event, isShared)}`
}
