/**
 * Claims the next turn of a session: one transaction from the queue of the inbox to the transcript.
 */
import { attemptsExhausted, beginPreparation } from '../../inbox/attempts.ts'
import { claimEvent, findQueueHead, type QueueHead } from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { brand } from '../../lib/ids.ts'
import { needsDownload } from '../../media/attachment-downloader.ts'
import type { Authority } from '../../message/authority.ts'
import { formatUserText, type MessageEvent, needsTranscript, parseCommand, shownImages } from '../../message/event.ts'
import type { SessionId, SessionKey, TurnId } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import type { ChatMessage } from '../../message/transcript.ts'
import { beginEpoch, readSessionSettings, type SessionState } from '../../sessions/session-state.ts'
import {
  appendMessage,
  dropFrozenPrompt,
  nextOrdinal,
  readFrozenPrompt,
  readTranscript,
  responsesOfTurn,
  type TranscriptEntry,
  usageOfTurn,
} from '../../sessions/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import { beginTurn, findOpenTurn, type OpenTurn, resumeTurn } from '../../sessions/turns.ts'
import type { Transaction } from '../../store/query.ts'
import type { AppliedReset, ResetIfDue } from './automatic-reset.ts'

/** The model sees the message. */
export interface ModelTurn {
  readonly kind: 'model'
  readonly turn: Turn
  /** No other message waited. What arrives later wakes the queue again. */
  readonly isLast: boolean
}

/** The gateway itself replies; flows/turn/without-model.ts says what. */
export type TurnWithoutModel =
  | { readonly kind: 'unknown-command'; readonly turn: Turn; readonly command: string }
  | { readonly kind: 'compress'; readonly turn: Turn; readonly focus: string }
  /** A stop was requested before a crash. */
  | { readonly kind: 'stopped'; readonly turn: Turn }
  /** The newer message `by` had ended the turn before a crash. */
  | { readonly kind: 'interrupted'; readonly turn: Turn; readonly by: number }
  /** All attempts have failed. */
  | { readonly kind: 'attempts-exhausted'; readonly turn: Turn; readonly reason: string }

/**
 * The next message has attachments that are not downloaded or transcribed yet, or an unknown command that may be the name of a skill. An
 * attempt has begun; nothing has been claimed.
 */
export interface UnpreparedMessage {
  readonly kind: 'unprepared'
  readonly seq: number
  readonly event: MessageEvent
  /** The other messages of its turn. */
  readonly joined?: readonly number[]
}

/** The interrupted turn or the next message must not be processed yet. Nothing has been claimed. */
export interface PostponedTurn {
  readonly kind: 'postponed'
  readonly turnId: string
  readonly event: MessageEvent
  /** ms */
  readonly until: number
  /** The user knows, or need not know: it waits for the provider of the model, or for messages that follow at once. */
  readonly isAnnounced: boolean
}

/** The messages after the next one belong to its turn. Nothing has been claimed. */
export interface UnmergedMessages {
  readonly kind: 'unmerged'
}

/** The person who has written the next message has no access any more. Nothing has been claimed. */
export interface RevokedMessage {
  readonly kind: 'revoked'
  readonly seq: number
}

export type Claim = ModelTurn | TurnWithoutModel | UnpreparedMessage | PostponedTurn

/** The message of a new turn, after the messages that join it were merged into it. */
export interface MergedMessage {
  readonly event: MessageEvent
  /** A message whose files must be downloaded or transcribed first. */
  readonly unprepared?: Omit<UnpreparedMessage, 'kind'> | undefined
  /** Binds the joined messages to their turn. */
  bind(turnId: string): Transaction<void>
}

/** Reads the messages that join the head of the queue (flows/turn/merge.ts). */
export type MergeFollowing = (
  key: SessionKey,
  head: { readonly seq: number; readonly event: MessageEvent },
) => Transaction<MergedMessage>

export interface ClaimRules {
  /** Several people write in the session of this source. */
  isShared(source: SessionSource): boolean
  routeOf(event: MessageEvent): string
  /** For messages that a version without roles has accepted. */
  authorityOf(source: SessionSource): Authority
  /** The stored authority, lowered where the configuration now permits less. Absent: it is kept. */
  lowerAuthority?(authority: Authority, event: Pick<MessageEvent, 'source' | 'internal'>): Authority
  /** Whether the person who has caused an event has lost the access. Absent: it is not checked again. */
  isRevoked?(event: MessageEvent): boolean
  /** Whether recordings are transcribed before their turn. Absent: they are not. */
  transcribes?(): boolean
  /** A command that is not known may be the name of a skill. Absent: there are no skills. */
  readonly hasSkills?: boolean
  /** Begins a new session when `session_reset` says so. Absent: sessions do not end by themselves. */
  readonly resetIfDue?: ResetIfDue
}

/** A message never waits longer than this for messages that may follow it, also when the clock is set back. */
const maxQuietMs = 10_000

/**
 * Claims the interrupted turn, or else the oldest message of the queue; null when there is none. `ids` are for a new turn.
 * Without `merge`, the result is `unmerged` where messages must be merged.
 */
export function* claimNextTurn(
  rules: ClaimRules,
  key: SessionKey,
  ids: { turn: string; session: string },
  now: number,
  merge?: MergeFollowing,
): Transaction<Claim | UnmergedMessages | RevokedMessage | null> {
  const interrupted = yield* findOpenTurn(key)
  if (interrupted !== undefined) return yield* claimInterruptedTurn(rules, key, interrupted, now)
  const head = yield* findQueueHead(key, 'turn')
  if (head === undefined) return null

  const next = yield* readNextMessage(rules, key, head, now, merge)
  if ('kind' in next) return next
  const { event } = next
  const { source } = event
  const nonModelTask = nonModelTaskOf(event)
  // A failed attempt stores its reason.
  const isExhausted = head.reason !== null && attemptsExhausted(head)
  const unprepared = next.unprepared ?? { seq: head.seq, event }
  const isUnprepared =
    nonModelTask === null
      ? hasUnpreparedFiles(rules, unprepared.event)
      : rules.hasSkills === true && nonModelTask.kind === 'unknown-command' && event.skills === undefined
  if (!isExhausted && isUnprepared) {
    yield* beginPreparation(unprepared.seq)
    return { kind: 'unprepared', ...unprepared }
  }
  const isModelTurn = !isExhausted && nonModelTask === null
  const reset =
    isModelTurn && rules.resetIfDue !== undefined
      ? yield* rules.resetIfDue(key, event, ids.session, head.accepted_at, now)
      : null
  const session = yield* beginEpoch({
    key,
    source: JSON.stringify(source),
    platform: source.platform,
    userId: source.userId ?? '',
    newSessionId: ids.session,
    keepsFirstTurn: nonModelTask !== null,
    now,
  })
  yield* claimEvent(head.seq, ids.turn)
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
  yield* next.bind(ids.turn)
  const earlier = yield* readTranscript(session.session_id)
  if (earlier.length === 0 && event.seed !== undefined)
    earlier.push(...(yield* seedTranscript(session.session_id, event.seed.messages, now)))
  const opened = { rules, key, state: session, id: ids.turn, seq: head.seq, event, entries: earlier, attempts: head }
  // The gateway ended each time while it prepared the files of the message.
  if (isExhausted)
    return { kind: 'attempts-exhausted', turn: yield* buildTurn(opened), reason: head.reason ?? unknownEnd }
  if (nonModelTask !== null) return { ...nonModelTask, turn: yield* buildTurn(opened) }

  const turn = yield* turnForModel(opened, rules.isShared(source), reset, now)
  return { kind: 'model', turn, isLast: head.isLast }
}

/** Whether files of the message are still to be downloaded or transcribed. */
export function hasUnpreparedFiles({ transcribes }: Pick<ClaimRules, 'transcribes'>, event: MessageEvent): boolean {
  if (event.attachments === undefined) return false
  return event.attachments.some(needsDownload) || (transcribes?.() === true && event.attachments.some(needsTranscript))
}

/** Stores the message in the transcript. */
function* turnForModel(
  opened: TurnParts,
  isShared: boolean,
  reset: AppliedReset | null,
  now: number,
): Transaction<Turn> {
  const { id, event, state, entries } = opened
  const text = formatUserText(event, isShared)
  const images = event.attachments === undefined ? [] : shownImages(event)
  const message = {
    role: 'user' as const,
    content: reset === null ? text : `${text}\n\n${reset.note}`,
    ...(images.length === 0 ? {} : { images }),
  }
  const ord = yield* nextOrdinal(state.session_id)
  yield* appendMessage({ sessionId: state.session_id, turnId: id, ord, message }, now)
  const turn = yield* buildTurn({ ...opened, entries: [...entries, { ord, turnId: id, message }] })
  return reset === null ? turn : { ...turn, resetReason: reset.reason }
}

/** The oldest message, merged with those that join it. */
function* readNextMessage(
  rules: Pick<ClaimRules, 'isRevoked'>,
  key: SessionKey,
  { seq, payload, available_at: until, isJoined }: QueueHead,
  now: number,
  merge: MergeFollowing | undefined,
): Transaction<PostponedTurn | UnmergedMessages | RevokedMessage | MergedMessage> {
  const event = parseStoredEvent(payload)
  if (rules.isRevoked?.(event) === true) return { kind: 'revoked', seq }
  if (until > now && until - now < maxQuietMs) return { kind: 'postponed', turnId: '', event, until, isAnnounced: true }
  if (!isJoined) return { event, bind: bindNothing }
  return merge === undefined ? { kind: 'unmerged' } : yield* merge(key, { seq, event })
}

// biome-ignore lint/correctness/useYield: a transaction without a query
function* bindNothing(): Transaction<void> {
  return undefined
}

/** A turn that a crash or a stop of the daemon interrupted comes first. It gets a new epoch. */
function* claimInterruptedTurn(
  rules: ClaimRules,
  key: SessionKey,
  openTurn: OpenTurn,
  now: number,
): Transaction<Claim> {
  const event = parseStoredEvent(openTurn.payload)
  const { available_at: until, outage_since } = openTurn
  const isEnding = openTurn.stop_requested === 1 || openTurn.interrupted_by !== null
  if (until > now && !isEnding)
    return { kind: 'postponed', turnId: openTurn.id, event, until, isAnnounced: outage_since !== null }
  const nonModelTask = nonModelTaskOf(event)
  const entered = yield* beginEpoch({
    key,
    source: JSON.stringify(event.source),
    platform: event.source.platform,
    userId: event.source.userId ?? '',
    newSessionId: openTurn.session_id,
    keepsFirstTurn: nonModelTask !== null,
    now,
  })
  yield* resumeTurn(openTurn.id, entered.epoch)
  const entries = yield* readTranscript(openTurn.session_id)
  const session = { ...entered, session_id: openTurn.session_id }
  const turn = yield* buildTurn({
    rules,
    key,
    state: session,
    id: openTurn.id,
    seq: openTurn.seq,
    event,
    entries,
    attempts: openTurn,
    interrupted: openTurn,
  })
  if (openTurn.stop_requested === 1) return { kind: 'stopped', turn }
  if (openTurn.interrupted_by !== null) return { kind: 'interrupted', turn, by: openTurn.interrupted_by }
  if (attemptsExhausted(openTurn)) return { kind: 'attempts-exhausted', turn, reason: openTurn.reason ?? unknownEnd }
  yield* claimEvent(openTurn.seq, openTurn.id)
  if (nonModelTask !== null) return { ...nonModelTask, turn }
  return { kind: 'model', turn, isLast: false }
}

const unknownEnd = 'the gateway ended during the turn'

/** Null for a message that the model answers. */
function nonModelTaskOf(event: MessageEvent) {
  if (event.compress !== undefined) return { kind: 'compress' as const, focus: event.compress.focus }
  const command = parseCommand(event)
  return command === null ? null : { kind: 'unknown-command' as const, command: command.name }
}

interface TurnParts {
  readonly rules: Pick<ClaimRules, 'authorityOf' | 'lowerAuthority'>
  readonly key: SessionKey
  readonly state: SessionState
  readonly id: string
  readonly seq: number
  readonly event: MessageEvent
  readonly entries: readonly TranscriptEntry[]
  readonly attempts: Pick<OpenTurn, 'tries' | 'crashes'>
  /** The earlier attempt; undefined for a new turn. */
  readonly interrupted?: OpenTurn
}

function* buildTurn({
  rules,
  key,
  state,
  id,
  seq,
  event,
  entries: transcript,
  attempts,
  interrupted,
}: TurnParts): Transaction<Turn> {
  const authority = currentAuthority(rules, event)
  const stored = yield* readFrozenPrompt(state.session_id)
  const isForbidden = event.task === undefined && stored !== undefined && showsForbiddenMemory(stored.text, authority)
  if (isForbidden) yield* dropFrozenPrompt(state.session_id)
  const frozen = isForbidden ? undefined : stored
  return {
    id: brand<TurnId>(id),
    seq,
    sessionKey: key,
    sessionId: brand<SessionId>(state.session_id),
    fence: { sessionKey: key, epoch: state.epoch },
    event,
    authority,
    firstOfSession: state.fresh === 1,
    resumed: interrupted !== undefined,
    hasFailedAttempts: attempts.tries + attempts.crashes > 0,
    outageSince: interrupted?.outage_since ?? null,
    usedTokens: 0,
    ...(interrupted === undefined ? {} : yield* progressOfTurn(state.session_id, id, transcript)),
    settings: yield* readSessionSettings(key),
    systemPrompt: frozen?.text,
    toolNames: frozen?.toolNames,
    transcript,
  }
}

/** The beginnings of the memory blocks in a prompt (agent/memory/prompt.ts). No entry has such a line. */
const profileBlock = '\u2550\nUSER PROFILE (who the user is) ['
const notesBlock = '\u2550\nMEMORY (your personal notes) ['

/** Whether a frozen prompt of a private conversation shows its person more than the role permits now: it was a higher one then. */
function showsForbiddenMemory(prompt: string, { role, chatType }: Authority): boolean {
  if (role === 'owner' || chatType !== 'dm') return false
  return prompt.includes(profileBlock) || (role === 'guest' && prompt.includes(notesBlock))
}

/** What the earlier attempts have stored and used. */
function* progressOfTurn(
  sessionId: string,
  turnId: string,
  entries: readonly TranscriptEntry[],
): Transaction<Pick<Turn, 'usedTokens' | 'storedResponses'>> {
  const from = entries.find((entry) => entry.turnId === turnId)?.ord ?? 0
  const { inputTokens, outputTokens } = yield* usageOfTurn(sessionId, turnId, from)
  const storedResponses = yield* responsesOfTurn(sessionId, turnId, from)
  return { usedTokens: inputTokens + outputTokens, storedResponses }
}

/** The stored authority of a message, with what the configuration permits now. */
export function currentAuthority(rules: TurnParts['rules'], event: MessageEvent): Authority {
  if (event.authority === undefined) return rules.authorityOf(event.source)
  return rules.lowerAuthority?.(event.authority, event) ?? event.authority
}

/** A stateless client sends its conversation with the request. It becomes the start of the new session. */
function* seedTranscript(
  sessionId: string,
  messages: readonly ChatMessage[],
  now: number,
): Transaction<TranscriptEntry[]> {
  const from = yield* nextOrdinal(sessionId)
  const entries = messages.map((message, index) => ({ ord: from + index, turnId: null, message }))
  for (const { ord, message } of entries) yield* appendMessage({ sessionId, turnId: null, ord, message }, now)
  return entries
}
