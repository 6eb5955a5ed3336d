/**
 * Which turn of a session comes next, and everything it begins with: one transaction from the queue to the transcript.
 */
import { claimEvent, headOf } from '../inbox/queries.ts'
import { storedEvent } from '../inbox/stored-event.ts'
import { brand } from '../lib/brand.ts'
import { isToFetch } from '../media/media.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { SessionId, SessionKey, TurnId } from '../message/ids.ts'
import type { ChatMessage } from '../message/transcript.ts'
import { userText } from '../message/user-text.ts'
import { enterLane, type Fence, type LaneState } from '../sessions/lanes.ts'
import { appendMessage, freePlace, frozenPrompt, readTranscript, type TranscriptLine } from '../sessions/transcript.ts'
import { beginTurn, type OpenTurn, openTurn, resumeTurn } from '../sessions/turns.ts'
import type { UseCase } from '../store/query.ts'

/** Claims of one event before it is set aside. */
const maxTries = 3

/** A turn that has been claimed and may run. */
export interface Turn {
  readonly id: TurnId
  readonly seq: number
  readonly sessionKey: SessionKey
  readonly sessionId: SessionId
  readonly fence: Fence
  readonly event: MessageEvent
  /** The first turn of its session. */
  readonly fresh: boolean
  /** A stop or a crash had cut it off. */
  readonly resumed: boolean
  /** The frozen system prompt; undefined in a new session. */
  readonly prompt: string | undefined
  /** The conversation so far, this turn's own lines last. */
  readonly lines: readonly TranscriptLine[]
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
export interface FilesFirst {
  readonly kind: 'files-first'
  readonly seq: number
  readonly event: MessageEvent
}

export interface ClaimRules {
  isShared(event: MessageEvent): boolean
  routeOf(event: MessageEvent): string
}

/** The turn that was cut off, else the oldest message of the lane; null when there is none. `ids` are for a new one. */
export function* claimNext(
  rules: ClaimRules,
  key: SessionKey,
  ids: { turn: string; session: string },
  now: number,
): UseCase<Claim | FilesFirst | null> {
  const cutOff = yield* openTurn(key)
  if (cutOff !== undefined) return yield* claimCutOff(key, cutOff, now)
  const head = yield* headOf(key, 'turn')
  if (head === undefined) return null

  const event = storedEvent(head.payload)
  const { source } = event
  const errand = errandOf(event)
  if (errand === null && event.attachments?.some(isToFetch) === true)
    return { kind: 'files-first', seq: head.seq, event }
  const lane = yield* enterLane({
    key,
    source: JSON.stringify(source),
    platform: source.platform,
    userId: source.userId ?? '',
    newSessionId: ids.session,
    staysFresh: errand !== null,
    now,
  })
  yield* claimEvent(head, ids.turn)
  yield* beginTurn(
    {
      id: ids.turn,
      sessionKey: key,
      sessionId: lane.session_id,
      epoch: lane.epoch,
      seq: head.seq,
      origin: JSON.stringify(source),
      authority: source.userId ?? '',
      route: rules.routeOf(event),
    },
    now,
  )
  const earlier = yield* readTranscript(lane.session_id)
  if (earlier.length === 0 && event.seed !== undefined)
    earlier.push(...(yield* plantSeed(lane.session_id, event.seed.messages, now)))
  const opened = { key, lane, id: ids.turn, seq: head.seq, event, lines: earlier, resumed: false }
  if (errand !== null) return { ...errand, turn: yield* openedTurn(opened) }

  const message = { role: 'user' as const, content: userText(event, rules.isShared(event)) }
  const ord = yield* freePlace(lane.session_id)
  yield* appendMessage({ sessionId: lane.session_id, turnId: ids.turn, ord, message }, now)
  earlier.push({ ord, turnId: ids.turn, message })
  return { kind: 'run', turn: yield* openedTurn(opened) }
}

/** A turn that a crash or a stop of the daemon cut off comes first: the fence moves, its tries count. */
function* claimCutOff(key: SessionKey, found: OpenTurn, now: number): UseCase<Claim> {
  const event = storedEvent(found.payload)
  const errand = errandOf(event)
  const entered = yield* enterLane({
    key,
    source: JSON.stringify(event.source),
    platform: event.source.platform,
    userId: event.source.userId ?? '',
    newSessionId: found.session_id,
    staysFresh: errand !== null,
    now,
  })
  yield* resumeTurn(found.id, entered.epoch)
  const lines = yield* readTranscript(found.session_id)
  const lane = { ...entered, session_id: found.session_id }
  const turn = yield* openedTurn({ key, lane, id: found.id, seq: found.seq, event, lines, resumed: true })
  if (found.stop_requested === 1) return { kind: 'stopped', turn }
  if (found.tries >= maxTries)
    return { kind: 'exhausted', turn, reason: found.reason ?? 'the gateway ended while it worked on it' }
  yield* claimEvent({ ...found, turn_id: found.id, state: 'claimed' }, found.id)
  if (errand !== null) return { ...errand, turn }
  return { kind: 'run', turn }
}

/** What is not for the model; null where it is. */
function errandOf(event: MessageEvent) {
  if (event.compress !== undefined) return { kind: 'compress' as const, focus: event.compress.focus }
  const command = parseCommand(event)
  return command === null ? null : { kind: 'unknown-command' as const, command: command.name }
}

interface Opened {
  readonly key: SessionKey
  readonly lane: LaneState
  readonly id: string
  readonly seq: number
  readonly event: MessageEvent
  readonly lines: readonly TranscriptLine[]
  readonly resumed: boolean
}

function* openedTurn({ key, lane, id, seq, event, lines, resumed }: Opened): UseCase<Turn> {
  return {
    id: brand<TurnId>(id),
    seq,
    sessionKey: key,
    sessionId: brand<SessionId>(lane.session_id),
    fence: { sessionKey: key, epoch: lane.epoch },
    event,
    fresh: lane.fresh === 1,
    resumed,
    prompt: yield* frozenPrompt(lane.session_id),
    lines,
  }
}

/** A stateless client brings its conversation along; it becomes the beginning of the new session. */
function* plantSeed(sessionId: string, messages: readonly ChatMessage[], now: number): UseCase<TranscriptLine[]> {
  const from = yield* freePlace(sessionId)
  const lines = messages.map((message, index) => ({ ord: from + index, turnId: null, message }))
  for (const { ord, message } of lines) yield* appendMessage({ sessionId, turnId: null, ord, message }, now)
  return lines
}
