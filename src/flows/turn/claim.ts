/**
 * Which turn of a session comes next, and everything it begins with: one transaction from the queue to the transcript.
 */
import { claimEvent, findQueueHead } from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { brand } from '../../lib/brand.ts'
import { needsDownload } from '../../media/attachment-downloader.ts'
import { type MessageEvent, parseCommand } from '../../message/event.ts'
import type { SessionId, SessionKey, TurnId } from '../../message/ids.ts'
import type { ChatMessage } from '../../message/transcript.ts'
import { formatUserText } from '../../message/user-text.ts'
import { beginEpoch, type Fence, type SessionState } from '../../sessions/session-state.ts'
import {
  appendMessage,
  nextOrdinal,
  readFrozenPrompt,
  readTranscript,
  type TranscriptEntry,
} from '../../sessions/transcript.ts'
import { beginTurn, findOpenTurn, type OpenTurn, resumeTurn } from '../../sessions/turns.ts'
import type { Transaction } from '../../store/query.ts'

/** Claims of one event before it is set aside. */
const maxAttempts = 3

/** A turn that has been claimed and may run. */
export interface Turn {
  readonly id: TurnId
  readonly seq: number
  readonly sessionKey: SessionKey
  readonly sessionId: SessionId
  readonly fence: Fence
  readonly event: MessageEvent
  /** The first turn of its session. */
  readonly firstOfSession: boolean
  /** A stop or a crash had cut it off. */
  readonly resumed: boolean
  /** The frozen system prompt; undefined in a new session. */
  readonly systemPrompt: string | undefined
  /** The conversation so far, this turn's own lines last. */
  readonly transcript: readonly TranscriptEntry[]
}

export type Claim =
  | { readonly kind: 'run'; readonly turn: Turn }
  /** A slash word nobody knows: a notice answers it, the model never sees it. */
  | { readonly kind: 'unknown-command'; readonly turn: Turn; readonly command: string }
  /** A person wants the conversation to be compressed. */
  | { readonly kind: 'compress'; readonly turn: Turn; readonly focus: string }
  /** A stop was asked for before a crash. */
  | { readonly kind: 'stopped'; readonly turn: Turn }
  /** Three tries have failed. */
  | { readonly kind: 'exhausted'; readonly turn: Turn; readonly reason: string }

/** The next message came with files that have not been fetched: nothing has been claimed, it waits for them. */
export interface AwaitingAttachments {
  readonly kind: 'files-first'
  readonly seq: number
  readonly event: MessageEvent
}

export interface ClaimRules {
  isShared(event: MessageEvent): boolean
  routeOf(event: MessageEvent): string
}

/** The turn that was cut off, else the oldest message of the lane; null when there is none. `ids` are for a new one. */
export function* claimNextTurn(
  rules: ClaimRules,
  key: SessionKey,
  ids: { turn: string; session: string },
  now: number,
): Transaction<Claim | AwaitingAttachments | null> {
  const interrupted = yield* findOpenTurn(key)
  if (interrupted !== undefined) return yield* claimInterruptedTurn(key, interrupted, now)
  const head = yield* findQueueHead(key, 'turn')
  if (head === undefined) return null

  const event = parseStoredEvent(head.payload)
  const { source } = event
  const nonModelTask = nonModelTaskOf(event)
  if (nonModelTask === null && event.attachments?.some(needsDownload) === true)
    return { kind: 'files-first', seq: head.seq, event }
  const session = yield* beginEpoch({
    key,
    source: JSON.stringify(source),
    platform: source.platform,
    userId: source.userId ?? '',
    newSessionId: ids.session,
    keepsFirstTurn: nonModelTask !== null,
    now,
  })
  yield* claimEvent(head, ids.turn)
  yield* beginTurn(
    {
      id: ids.turn,
      sessionKey: key,
      sessionId: session.session_id,
      epoch: session.epoch,
      seq: head.seq,
      origin: JSON.stringify(source),
      authority: source.userId ?? '',
      route: rules.routeOf(event),
    },
    now,
  )
  const earlier = yield* readTranscript(session.session_id)
  if (earlier.length === 0 && event.seed !== undefined)
    earlier.push(...(yield* seedTranscript(session.session_id, event.seed.messages, now)))
  const opened = { key, lane: session, id: ids.turn, seq: head.seq, event, lines: earlier, resumed: false }
  if (nonModelTask !== null) return { ...nonModelTask, turn: yield* buildTurn(opened) }

  const message = { role: 'user' as const, content: formatUserText(event, rules.isShared(event)) }
  const ord = yield* nextOrdinal(session.session_id)
  yield* appendMessage({ sessionId: session.session_id, turnId: ids.turn, ord, message }, now)
  earlier.push({ ord, turnId: ids.turn, message })
  return { kind: 'run', turn: yield* buildTurn(opened) }
}

/** A turn that a crash or a stop of the daemon cut off comes first: the fence moves, its tries count. */
function* claimInterruptedTurn(key: SessionKey, found: OpenTurn, now: number): Transaction<Claim> {
  const event = parseStoredEvent(found.payload)
  const nonModelTask = nonModelTaskOf(event)
  const entered = yield* beginEpoch({
    key,
    source: JSON.stringify(event.source),
    platform: event.source.platform,
    userId: event.source.userId ?? '',
    newSessionId: found.session_id,
    keepsFirstTurn: nonModelTask !== null,
    now,
  })
  yield* resumeTurn(found.id, entered.epoch)
  const lines = yield* readTranscript(found.session_id)
  const session = { ...entered, session_id: found.session_id }
  const turn = yield* buildTurn({ key, lane: session, id: found.id, seq: found.seq, event, lines, resumed: true })
  if (found.stop_requested === 1) return { kind: 'stopped', turn }
  if (found.tries >= maxAttempts)
    return { kind: 'exhausted', turn, reason: found.reason ?? 'the gateway ended while it worked on it' }
  yield* claimEvent({ ...found, turn_id: found.id, state: 'claimed' }, found.id)
  if (nonModelTask !== null) return { ...nonModelTask, turn }
  return { kind: 'run', turn }
}

/** What is not for the model; null where it is. */
function nonModelTaskOf(event: MessageEvent) {
  if (event.compress !== undefined) return { kind: 'compress' as const, focus: event.compress.focus }
  const command = parseCommand(event)
  return command === null ? null : { kind: 'unknown-command' as const, command: command.name }
}

interface TurnParts {
  readonly key: SessionKey
  readonly lane: SessionState
  readonly id: string
  readonly seq: number
  readonly event: MessageEvent
  readonly lines: readonly TranscriptEntry[]
  readonly resumed: boolean
}

function* buildTurn({ key, lane, id, seq, event, lines: transcript, resumed }: TurnParts): Transaction<Turn> {
  return {
    id: brand<TurnId>(id),
    seq,
    sessionKey: key,
    sessionId: brand<SessionId>(lane.session_id),
    fence: { sessionKey: key, epoch: lane.epoch },
    event,
    firstOfSession: lane.fresh === 1,
    resumed,
    systemPrompt: yield* readFrozenPrompt(lane.session_id),
    transcript,
  }
}

/** A stateless client brings its conversation along; it becomes the beginning of the new session. */
function* seedTranscript(
  sessionId: string,
  messages: readonly ChatMessage[],
  now: number,
): Transaction<TranscriptEntry[]> {
  const from = yield* nextOrdinal(sessionId)
  const lines = messages.map((message, index) => ({ ord: from + index, turnId: null, message }))
  for (const { ord, message } of lines) yield* appendMessage({ sessionId, turnId: null, ord, message }, now)
  return lines
}
