/**
 * The durable side of a turn: what is on disk at each of its moments (design, "Durability").
 * Each function here is one transaction, composed from the queries of the rooms it touches.
 */

import type { Journal } from './agent/journal.ts'
import { hashOfCall } from './agent/tool-batch.ts'
import { claimEvent, finishEvent, headOf, parkEvent } from './inbox/queries.ts'
import { brand } from './lib/brand.ts'
import { isHermesError } from './lib/errors.ts'
import { sessionIdAt, uuid7 } from './lib/ids.ts'
import { type MessageEvent, parseCommand } from './message/event.ts'
import type { SessionId, SessionKey, TurnId } from './message/ids.ts'
import { type AssistantMessage, addUsage, type ChatMessage, type ToolCall, type Usage } from './message/transcript.ts'
import { userText } from './message/user-text.ts'
import type { TurnOutcome } from './platforms/adapter.ts'
import { addSessionUsage, checkFence, enterLane, type Fence, type LaneState, shutFence } from './sessions/lanes.ts'
import {
  appendMessage,
  freePlace,
  frozenPrompt,
  readTranscript,
  supersedeTurn,
  type TranscriptLine,
  usageFrom,
} from './sessions/transcript.ts'
import {
  beginTurn,
  endToolCall,
  endTurn,
  keepLateResult,
  type OpenTurn,
  openTurn,
  resumeTurn,
  startToolCall,
  type TurnEnd,
} from './sessions/turns.ts'
import type { UseCase } from './store/query.ts'
import type { Store } from './store/store.ts'

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
  /** A stop was asked for before a crash. */
  | { readonly kind: 'stopped'; readonly turn: Turn }
  /** Three tries have failed. */
  | { readonly kind: 'exhausted'; readonly turn: Turn; readonly reason: string }

export interface TurnJournalDeps {
  readonly store: Store
  readonly clock: () => number
  isShared(event: MessageEvent): boolean
  routeOf(event: MessageEvent): string
}

export interface TurnJournal {
  /** Takes the turn that was cut off, else the oldest message of the lane; null when there is none. */
  claim(key: SessionKey): Promise<Claim | null>
  /** What the agent loop writes while it works. */
  journalOf(turn: Turn): Journal & { readonly nextOrd: () => number }
  /** Ends the turn: transcript, outbox rows and inbox in one transaction. Rejects `store/fenced` when overtaken. */
  finish(turn: Turn, end: Finish): Promise<TurnOutcome>
}

export interface Finish extends TurnEnd {
  readonly text: string
  /** The last answer; absent when there was none. */
  readonly message?: AssistantMessage
  readonly ord: number
  /** Of the last answer alone: what the answers before it cost is in the transcript already. */
  readonly usage: Usage
  readonly errorCode?: string
  /** The event is set aside for a person instead of being done. */
  readonly park?: boolean
  /** Writes the reply's rows into the same transaction. */
  writeReply(now: number): UseCase<void>
}

export function createTurnJournal(deps: TurnJournalDeps): TurnJournal {
  const { store, clock } = deps
  return {
    claim(key) {
      const now = clock()
      const ids = { turn: uuid7(now), session: sessionIdAt(now) }
      return store.run(() => claimNext(deps, key, ids, now))
    },

    journalOf(turn) {
      const places = createPlaces(turn)
      return {
        nextOrd: places.next,
        assistant: (message, usage) =>
          store.run(() => writeAnswer(turn, places.answer(message), message, usage, clock())),
        toolStarted: (call, mode) =>
          store.run(function* () {
            yield* checkFence(turn.fence)
            const started = { turnId: turn.id, callId: call.id, name: call.name, argsHash: hashOfCall(call), mode }
            return yield* startToolCall(started, clock())
          }),
        async toolEnded(call, result, how) {
          try {
            await store.run(() => writeResult(turn, places.of(call), call, result, how, clock()))
          } catch (error) {
            if (isHermesError(error, 'store/fenced'))
              await store.run(() => keepLateResult(turn.id, call.id, result, clock()))
            throw error
          }
        },
      }
    },

    finish: (turn, end) => store.run(() => finishTurn(turn, end, clock())),
  }
}

function* claimNext(
  deps: TurnJournalDeps,
  key: SessionKey,
  ids: { turn: string; session: string },
  now: number,
): UseCase<Claim | null> {
  const cutOff = yield* openTurn(key)
  if (cutOff !== undefined) return yield* claimCutOff(key, cutOff, now)
  const head = yield* headOf(key, 'turn')
  if (head === undefined) return null

  const event = storedEvent(head.payload)
  const { source } = event
  const command = parseCommand(event)
  const lane = yield* enterLane({
    key,
    source: JSON.stringify(source),
    platform: source.platform,
    userId: source.userId ?? '',
    newSessionId: ids.session,
    staysFresh: command !== null,
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
      route: deps.routeOf(event),
    },
    now,
  )
  const earlier = yield* readTranscript(lane.session_id)
  if (earlier.length === 0 && event.seed !== undefined)
    earlier.push(...(yield* plantSeed(lane.session_id, event.seed.messages, now)))
  const opened = { key, lane, id: ids.turn, seq: head.seq, event, lines: earlier, resumed: false }
  if (command !== null) return { kind: 'unknown-command', turn: yield* openedTurn(opened), command: command.name }

  const message = { role: 'user' as const, content: userText(event, deps.isShared(event)) }
  const ord = yield* freePlace(lane.session_id)
  yield* appendMessage({ sessionId: lane.session_id, turnId: ids.turn, ord, message }, now)
  earlier.push({ ord, turnId: ids.turn, message })
  return { kind: 'run', turn: yield* openedTurn(opened) }
}

/** A turn that a crash or a stop of the daemon cut off comes first: the fence moves, its tries count. */
function* claimCutOff(key: SessionKey, found: OpenTurn, now: number): UseCase<Claim> {
  const event = storedEvent(found.payload)
  const command = parseCommand(event)
  const entered = yield* enterLane({
    key,
    source: JSON.stringify(event.source),
    platform: event.source.platform,
    userId: event.source.userId ?? '',
    newSessionId: found.session_id,
    staysFresh: command !== null,
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
  if (command !== null) return { kind: 'unknown-command', turn, command: command.name }
  return { kind: 'run', turn }
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

function nextPlace(lines: readonly TranscriptLine[]): number {
  return (lines.at(-1)?.ord ?? -1) + 1
}

/**
 * Gives every message of a running turn its place. The results of one answer lie behind it in the order of its calls,
 * whichever ends first; after a crash an open call still takes the place it was promised.
 */
function createPlaces(turn: Turn) {
  const places = new Map<string, number>()
  let next = nextPlace(turn.lines)
  const promise = (ord: number, { toolCalls = [] }: AssistantMessage) => {
    for (const [index, call] of toolCalls.entries()) places.set(call.id, ord + 1 + index)
    next = Math.max(next, ord + 1 + toolCalls.length)
  }
  for (const { turnId, ord, message } of turn.lines) {
    if (turnId === turn.id && message.role === 'assistant') promise(ord, message)
  }
  return {
    next: () => next,
    answer(message: AssistantMessage): number {
      const ord = next
      promise(ord, message)
      return ord
    },
    of(call: ToolCall): number {
      const place = places.get(call.id)
      if (place === undefined) throw new Error(`the tool call ${call.id} has no place in the transcript`)
      return place
    },
  }
}

function* writeAnswer(turn: Turn, ord: number, message: AssistantMessage, usage: Usage, now: number): UseCase<void> {
  yield* checkFence(turn.fence)
  yield* appendMessage({ sessionId: turn.sessionId, turnId: turn.id, ord, message, usage }, now)
}

function* writeResult(
  turn: Turn,
  ord: number,
  call: ToolCall,
  result: string,
  how: 'done' | 'interrupted',
  now: number,
): UseCase<void> {
  yield* checkFence(turn.fence)
  yield* endToolCall(turn.id, call.id, how, now)
  yield* appendMessage({ sessionId: turn.sessionId, turnId: turn.id, ord, message: toolMessage(call, result) }, now)
}

function toolMessage(call: ToolCall, content: string): ChatMessage {
  return { role: 'tool', toolCallId: call.id, name: call.name, content }
}

function* finishTurn(turn: Turn, end: Finish, now: number): UseCase<TurnOutcome> {
  yield* checkFence(turn.fence)
  if (end.state !== 'done') {
    yield* closeOpenCalls(turn, now)
    yield* shutFence(turn.fence)
  }
  const usage = addUsage(yield* usageFrom(turn.sessionId, firstPlace(turn)), end.usage)
  const outcome = outcomeOf(turn, end, usage)
  if (end.message !== undefined) {
    const { message } = end
    const place = { sessionId: turn.sessionId, turnId: turn.id, ord: end.ord }
    yield* appendMessage({ ...place, message, usage: end.usage }, now)
  }
  yield* endTurn(turn.id, { state: end.state, reason: end.reason, model: end.model, provider: end.provider }, now)
  if (end.park === true) {
    yield* parkEvent(turn.seq, end.reason ?? '', outcome)
    yield* supersedeTurn(turn.sessionId, turn.id)
  } else yield* finishEvent(turn.seq, outcome)
  yield* addSessionUsage(turn.sessionId, usage.inputTokens, usage.outputTokens, now)
  yield* end.writeReply(now)
  return outcome
}

/** Where this turn begins in the transcript. */
function firstPlace(turn: Turn): number {
  return turn.lines.find(({ turnId }) => turnId === turn.id)?.ord ?? nextPlace(turn.lines)
}

/** A turn that ends early leaves no call without a result: models refuse such a conversation. */
function* closeOpenCalls(turn: Turn, now: number): UseCase<void> {
  const lines = yield* readTranscript(turn.sessionId)
  const own = lines.filter((line) => line.turnId === turn.id)
  const answered = new Set(own.flatMap(({ message }) => (message.role === 'tool' ? [message.toolCallId] : [])))
  for (const { ord, message } of own) {
    if (message.role !== 'assistant') continue
    for (const [index, call] of (message.toolCalls ?? []).entries()) {
      if (answered.has(call.id)) continue
      const place = { sessionId: turn.sessionId, turnId: turn.id, ord: ord + 1 + index }
      yield* endToolCall(turn.id, call.id, 'interrupted', now)
      yield* appendMessage({ ...place, message: toolMessage(call, notRun) }, now)
    }
  }
}

const notRun = JSON.stringify({
  error: 'The turn ended before this tool gave a result; whether it had an effect is not known.',
})

function outcomeOf(turn: Turn, end: Finish, { inputTokens, outputTokens }: Usage): TurnOutcome {
  return {
    status: end.state,
    text: end.text,
    sessionId: turn.sessionId,
    model: end.model,
    usage: { inputTokens, outputTokens },
    ...(end.errorCode === undefined ? {} : { errorCode: end.errorCode }),
  }
}

/** JSON that the inbox wrote itself. */
function storedEvent(payload: string): MessageEvent {
  return JSON.parse(payload)
}
