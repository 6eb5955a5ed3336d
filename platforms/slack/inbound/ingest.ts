/**
 * Passes payloads of Slack to the gateway, in order for each channel, and decides whether to acknowledge them.
 */
import {
  type AcceptResult,
  createLruCache,
  HermesError,
  isHermesError,
  type Logger,
  type LruCache,
  type MessageEvent,
  messageOf,
  type PlatformContext,
  type SessionSource,
} from '#sdk'
import type { Place } from './catch-up-targets.ts'
import { toEdit } from './changes.ts'
import type { InboundEvent, NormalizeContext } from './context.ts'
import type { JoinedThreads } from './joined-threads.ts'
import { isUserMessage, messageLocationOf } from './message.ts'
import { normalize } from './normalize.ts'
import { asRecord, type JsonRecord, recordAt, textAt, tsAt } from './payload.ts'
import { isDirectMessage } from './source.ts'

/** Responses to a user that do not depend on the event. */
export const fixedReplies = {
  notAllowed: 'You are not on the list of users who can talk to me.',
  pressNotStored: 'Your choice could not be stored. Please press the button again.',
} as const

export interface IngestResult {
  /** `false` when the payload was not stored, so that Slack delivers it again. */
  readonly acknowledge: boolean
  /** The immediate response to a slash command. */
  readonly reply?: string
}

export interface Ingest {
  /** Resolves when the payload is stored or ignored. Never rejects. */
  ingest(payload: unknown): Promise<IngestResult>
  /**
   * Accepts a message from the history of a channel. Resolves to whether it is new. Rejects when the store is unavailable. A
   * message that fails for another reason is skipped, so that it does not block the following ones.
   */
  ingestStored(channel: string, message: JsonRecord): Promise<boolean>
  /** Whether the bot handles a message from the history of a channel. Never rejects. */
  isForBot(channel: string, message: JsonRecord): Promise<boolean>
}

export interface IngestDeps {
  readonly gateway: Pick<PlatformContext, 'accept' | 'acceptIfDelayed' | 'change' | 'questions' | 'connection'>
  readonly normalizeContext: NormalizeContext
  readonly threads: JoinedThreads
  readonly log: Logger
  /** Resolves when the names of mentioned users and channels are known, or the wait is over. Never rejects. */
  resolveMentions(payload: unknown): Promise<void>
  /** Adds the earlier messages of a thread to the first mention in it. Never rejects. */
  withThreadContext(event: MessageEvent): Promise<MessageEvent>
  /**
   * Resolves when the messages that were missed in a place are stored, so that live events follow them; `false` when the
   * adapter stops. Never rejects.
   */
  whenCaughtUp(place: Place): Promise<boolean>
  /** A live message could not be stored. It must be fetched before later ones are accepted. */
  onNotStored(place: Place, ts: string): void
  /** Sends a text that only the author of `source` sees. Never rejects. */
  sendEphemeral(source: SessionSource, text: string): Promise<void>
}

const acknowledged: IngestResult = { acknowledge: true }

const notAcknowledged: IngestResult = { acknowledge: false }

interface IngestState {
  readonly deps: IngestDeps
  /** Skipped messages, to log each of them once: after each interruption the newest messages are fetched again. */
  readonly skippedMessages: LruCache<true>
}

export function createIngest(deps: IngestDeps): Ingest {
  const state: IngestState = { deps, skippedMessages: createLruCache<true>(200) }
  /** The last pending payload of each channel. */
  const channelQueues = new Map<string, Promise<unknown>>()
  return {
    ingestStored: (channel, message) => ingestStored(state, channel, message),
    isForBot: async (channel, message) =>
      (await normalizeStored(deps, toStoredPayload(deps, channel, message))).kind === 'message',
    async ingest(payload) {
      // Payloads of one channel are handled in order.
      const channel = placeOf(payload)?.channel
      const before = channel === undefined ? undefined : channelQueues.get(channel)
      const work = before === undefined ? ingestPayload(deps, payload) : before.then(() => ingestPayload(deps, payload))
      if (channel === undefined) return await work
      channelQueues.set(channel, work)
      if (before !== undefined) void overtake(deps, payload, work)
      const result = await work
      if (channelQueues.get(channel) === work) channelQueues.delete(channel)
      return result
    },
  }
}

/** Never rejects. */
async function overtake(deps: IngestDeps, payload: unknown, inOrder: Promise<unknown>): Promise<void> {
  try {
    const incoming = await normalizeStored(deps, asRecord(payload))
    if (incoming.kind === 'message') deps.gateway.acceptIfDelayed(incoming.event, incoming.keys, inOrder)
  } catch (error) {
    // It is reported when the payload is handled in order.
    deps.log.debug({ event: 'slack.event_not_read', err: error }, 'event waits for earlier ones of its channel')
  }
}

async function ingestStored(
  { deps, skippedMessages }: IngestState,
  channel: string,
  message: JsonRecord,
): Promise<boolean> {
  try {
    return await ingestFromHistory(deps, channel, message)
  } catch (error) {
    if (isStoreUnavailable(error)) throw error
    const ts = tsAt(message) ?? ''
    const key = `${channel}:${ts}`
    if (skippedMessages.has(key)) return false
    skippedMessages.set(key, true)
    deps.log.error(
      { event: 'slack.message_skipped', err: error, channel, ts },
      `missed message cannot be accepted and is skipped: ${messageOf(error)}`,
    )
    return false
  }
}

async function ingestFromHistory(deps: IngestDeps, channel: string, message: JsonRecord): Promise<boolean> {
  const payload = toStoredPayload(deps, channel, message)
  await deps.resolveMentions(payload)
  const incoming = await normalizeStored(deps, payload)
  if (incoming.kind !== 'message') return false
  const { keys, cursor } = incoming
  const messageEvent = await deps.withThreadContext(incoming.event)
  const status = await accept(deps, messageEvent.source, () => deps.gateway.accept(messageEvent, keys, cursor))
  const location = messageLocationOf(payload.event)
  const editedTs = tsAt(recordAt(message, 'edited'))
  if (status !== 'duplicate' || location === undefined || editedTs === undefined) return status === 'accepted'
  // The message was accepted before, and may have been edited during the outage.
  const edit = toEdit(payload.event, location, editedTs, deps.normalizeContext)
  if (edit.kind === 'change') await change(deps, edit)
  return false
}

/** The payload of the event by which Slack announced a message of the history. */
function toStoredPayload({ normalizeContext }: IngestDeps, channel: string, message: JsonRecord) {
  const direct = isDirectMessage({ channel }) ? { channel_type: 'im' } : {}
  const event: JsonRecord = { ...message, ...direct, channel, type: 'message' }
  return { type: 'event_callback', team_id: normalizeContext.identity.teamId, event }
}

async function normalizeStored({ normalizeContext, threads }: IngestDeps, payload: JsonRecord): Promise<InboundEvent> {
  const thread = threadToLookUp(payload, normalizeContext)
  if (thread !== undefined) await threads.lookUp(thread.channel, thread.ts)
  return normalize(payload, normalizeContext)
}

/** Never rejects. */
async function ingestPayload(deps: IngestDeps, payload: unknown): Promise<IngestResult> {
  const { normalizeContext, threads, log } = deps
  const place = placeOf(payload)
  if (place !== undefined && !(await deps.whenCaughtUp(place))) return notAcknowledged
  try {
    const thread = threadToLookUp(payload, normalizeContext)
    if (thread !== undefined) await threads.lookUp(thread.channel, thread.ts)
    await deps.resolveMentions(payload)
    return await dispatch(deps, normalize(payload, normalizeContext))
  } catch (error) {
    log.warn(
      { event: 'slack.event_not_stored', err: error },
      `event could not be stored and will be delivered again: ${messageOf(error)}`,
    )
    const ts = missedMessageTs(payload)
    if (place !== undefined && ts !== undefined && isStoreUnavailable(error)) deps.onNotStored(place, ts)
    return notAcknowledged
  }
}

async function dispatch(deps: IngestDeps, incoming: InboundEvent): Promise<IngestResult> {
  switch (incoming.kind) {
    case 'ignored':
      deps.log.debug({ event: 'slack.event_ignored', reason: incoming.reason }, 'event ignored')
      return acknowledged
    case 'refused':
      deps.gateway.connection.refused(`bot_token: ${incoming.reason}`)
      return acknowledged
    case 'message': {
      const { keys, cursor } = incoming
      const event = await deps.withThreadContext(incoming.event)
      await accept(deps, event.source, () => deps.gateway.accept(event, keys, cursor))
      return acknowledged
    }
    case 'slash':
      return await acceptSlash(deps, incoming)
    case 'change':
      await change(deps, incoming)
      return acknowledged
    case 'press':
      return await press(deps, incoming)
  }
}

/** Rejects when a later attempt may succeed. */
async function accept(
  { threads, sendEphemeral }: IngestDeps,
  source: SessionSource,
  call: () => Promise<AcceptResult>,
): Promise<AcceptResult['status'] | 'too-large'> {
  try {
    const { status } = await call()
    if (status !== 'refused') threads.recordIngested(source)
    return status
  } catch (error) {
    if (!isHermesError(error, 'inbox/too-large')) throw error
    // A repeated delivery would fail again.
    void sendEphemeral(source, `${error.meaning} ${error.hint}`)
    return 'too-large'
  }
}

/** Rejects when a later attempt may succeed. */
async function change(
  { gateway, log }: IngestDeps,
  { change: changed, keys }: Extract<InboundEvent, { kind: 'change' }>,
): Promise<void> {
  try {
    await gateway.change(changed, keys)
  } catch (error) {
    if (!isHermesError(error, 'inbox/too-large')) throw error
    // The stored message remains unchanged.
    log.warn(
      { event: 'slack.change_too_large', change: changed.kind, reason: error.message },
      'change of a message is too large',
    )
  }
}

async function acceptSlash(
  { gateway, log }: IngestDeps,
  { event, keys }: Extract<InboundEvent, { kind: 'slash' }>,
): Promise<IngestResult> {
  try {
    const { status } = await gateway.accept(event, keys)
    if (status === 'refused') return { acknowledge: true, reply: fixedReplies.notAllowed }
    return { acknowledge: true, reply: `Received: ${event.text.slice(0, 100)}` }
  } catch (error) {
    log.warn(
      { event: 'slack.command_not_stored', err: error },
      `slash command could not be stored: ${messageOf(error)}`,
    )
    // Slack does not deliver a command again, so its author must be notified.
    const { meaning, hint } = isHermesError(error) ? error : new HermesError('store/failed')
    return { acknowledge: true, reply: `${meaning} ${hint}` }
  }
}

async function press(
  { gateway, log, sendEphemeral }: IngestDeps,
  { press: pressed }: Extract<InboundEvent, { kind: 'press' }>,
): Promise<IngestResult> {
  try {
    const { text } = await gateway.questions.press(pressed)
    if (text !== '') void sendEphemeral(pressed.source, text)
  } catch (error) {
    log.warn({ event: 'slack.press_not_stored', err: error }, `button press could not be stored: ${messageOf(error)}`)
    // Slack does not deliver a press again.
    void sendEphemeral(pressed.source, fixedReplies.pressNotStored)
  }
  return acknowledged
}

/** No message can be stored at present: the disk is full, or the gateway is starting or stopping. */
function isStoreUnavailable(error: unknown): boolean {
  return isHermesError(error) && (error.code.startsWith('store/') || error.code === 'http/starting')
}

/** The channel or thread of an event. Slash commands and presses have none: they do not wait for missed messages. */
function placeOf(payload: unknown): Place | undefined {
  const event = recordAt(asRecord(payload), 'event')
  const channel = textAt(event, 'channel') ?? textAt(recordAt(event, 'item'), 'channel')
  if (channel === undefined) return undefined
  const [message = {}] = [event, recordAt(event, 'message'), recordAt(event, 'previous_message')].filter(
    (message) => tsAt(message, 'thread_ts') !== undefined,
  )
  const threadTs = tsAt(message, 'thread_ts')
  return { channel, ...(threadTs === undefined || threadTs === tsAt(message) ? {} : { threadTs }) }
}

/** The time of a new message; `undefined` for other events, which the history does not contain. */
function missedMessageTs(payload: unknown): string | undefined {
  const event = recordAt(asRecord(payload), 'event')
  const isMessage = textAt(event, 'type') === 'message' || textAt(event, 'type') === 'app_mention'
  return isMessage && isUserMessage(event) ? tsAt(event) : undefined
}

/** The thread for which normalisation must know whether the bot takes part in it. */
function threadToLookUp(payload: unknown, { rules }: NormalizeContext): { channel: string; ts: string } | undefined {
  if (!rules.requireMention || rules.strictMention) return undefined
  const event = recordAt(asRecord(payload), 'event')
  const changed = recordAt(event, 'message')
  const ts = tsAt(event, 'thread_ts') ?? tsAt(changed, 'thread_ts')
  const channel = textAt(event, 'channel')
  if (ts === undefined || channel === undefined || channel.startsWith('D')) return undefined
  return { channel, ts }
}
