/**
 * Passes payloads of Slack to the gateway, in order for each channel, and decides whether to acknowledge them.
 */
import { HermesError, isHermesError, messageOf, type PlatformContext } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { sendEphemeral } from '../outbound/ephemeral.ts'
import { acceptChange, acceptMessage, isStoreUnavailable, readPayload } from './accept.ts'
import type { CatchUp } from './catch-up.ts'
import type { Conversation } from './catch-up-targets.ts'
import type { InboundEvent, NormalizeContext } from './context.ts'
import { isUserMessage } from './message.ts'
import { asRecord, recordAt, textAt, tsAt } from './payload.ts'

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
}

const acknowledged: IngestResult = { acknowledge: true }

const notAcknowledged: IngestResult = { acknowledge: false }

interface IngestState {
  readonly account: SlackAccount
  readonly normalizeContext: NormalizeContext
  /** Live events follow the messages that were missed. */
  readonly catchUp: CatchUp
}

export function createIngest(account: SlackAccount, normalizeContext: NormalizeContext, catchUp: CatchUp): Ingest {
  const state: IngestState = { account, normalizeContext, catchUp }
  /** The last pending payload of each channel. */
  const channelQueues = new Map<string, Promise<unknown>>()
  return {
    async ingest(payload) {
      // Payloads of one channel are handled in order.
      const channel = conversationOf(payload)?.channel
      const before = channel === undefined ? undefined : channelQueues.get(channel)
      const work =
        before === undefined ? ingestPayload(state, payload) : before.then(() => ingestPayload(state, payload))
      if (channel === undefined) return await work
      channelQueues.set(channel, work)
      if (before !== undefined) void overtake(state, payload, work)
      const result = await work
      if (channelQueues.get(channel) === work) channelQueues.delete(channel)
      return result
    },
  }
}

/** Never rejects. */
async function overtake(
  { account, normalizeContext }: IngestState,
  payload: unknown,
  inOrder: Promise<unknown>,
): Promise<void> {
  const { acceptIfDelayed, log } = account.context
  try {
    const incoming = await readPayload(asRecord(payload), account, normalizeContext)
    if (incoming.kind === 'message') acceptIfDelayed(incoming.event, incoming.keys, inOrder)
  } catch (error) {
    // It is reported when the payload is handled in order.
    log.debug({ event: 'slack.event_not_read', err: error }, 'event waits for earlier ones of its channel')
  }
}

/** Never rejects. */
async function ingestPayload(state: IngestState, payload: unknown): Promise<IngestResult> {
  const { account, normalizeContext, catchUp } = state
  const conversation = conversationOf(payload)
  if (conversation !== undefined && !(await catchUp.ready(conversation))) return notAcknowledged
  try {
    await account.names.resolveMentions(payload)
    return await dispatch(state, await readPayload(payload, account, normalizeContext))
  } catch (error) {
    account.context.log.warn(
      { event: 'slack.event_not_stored', err: error },
      `event could not be stored and will be delivered again: ${messageOf(error)}`,
    )
    const ts = missedMessageTs(payload)
    // It must be fetched before later ones are accepted.
    if (conversation !== undefined && ts !== undefined && isStoreUnavailable(error)) {
      catchUp.refetch(conversation, Number(ts))
    }
    return notAcknowledged
  }
}

async function dispatch({ account, normalizeContext }: IngestState, incoming: InboundEvent): Promise<IngestResult> {
  const { context } = account
  switch (incoming.kind) {
    case 'ignored':
      context.log.debug({ event: 'slack.event_ignored', reason: incoming.reason }, 'event ignored')
      return acknowledged
    case 'refused':
      context.connection.refused(`bot_token: ${incoming.reason}`)
      return acknowledged
    case 'message':
      await acceptMessage(incoming, account, normalizeContext)
      return acknowledged
    case 'slash':
      return await acceptSlash(incoming, context)
    case 'change':
      await acceptChange(incoming, context)
      return acknowledged
    case 'press':
      return await press(incoming, account)
  }
}

async function acceptSlash(
  { event, keys }: Extract<InboundEvent, { kind: 'slash' }>,
  { accept, log }: PlatformContext,
): Promise<IngestResult> {
  try {
    const { status } = await accept(event, keys)
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
  { press: pressed }: Extract<InboundEvent, { kind: 'press' }>,
  account: SlackAccount,
): Promise<IngestResult> {
  const { questions, log } = account.context
  try {
    const { text } = await questions.press(pressed)
    if (text !== '') void sendEphemeral(account, pressed.source, text)
  } catch (error) {
    log.warn({ event: 'slack.press_not_stored', err: error }, `button press could not be stored: ${messageOf(error)}`)
    // Slack does not deliver a press again.
    void sendEphemeral(account, pressed.source, fixedReplies.pressNotStored)
  }
  return acknowledged
}

/** The channel or thread of an event. Slash commands and presses have none: they do not wait for missed messages. */
function conversationOf(payload: unknown): Conversation | undefined {
  const event = recordAt(asRecord(payload), 'event')
  const channel = textAt(event, 'channel') ?? textAt(recordAt(event, 'item'), 'channel')
  if (channel === undefined) return undefined
  const [message = {}] = [event, recordAt(event, 'message'), recordAt(event, 'previous_message')].filter(
    (message) => tsAt(message, 'thread_ts') !== undefined,
  )
  const threadTs = tsAt(message, 'thread_ts')
  return { channel, threadTs: threadTs === tsAt(message) ? undefined : threadTs }
}

/** The time of a new message; `undefined` for other events, which the history does not contain. */
function missedMessageTs(payload: unknown): string | undefined {
  const event = recordAt(asRecord(payload), 'event')
  const isMessage = textAt(event, 'type') === 'message' || textAt(event, 'type') === 'app_mention'
  return isMessage && isUserMessage(event) ? tsAt(event) : undefined
}
