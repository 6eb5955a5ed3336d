/**
 * Takes what came from Slack to the gateway, in the order it came, and says whether Slack may be told "got it".
 */
import {
  type AcceptResult,
  createLruCache,
  HermesError,
  isHermesError,
  type Logger,
  type MessageEvent,
  messageOf,
  type PlatformContext,
  type ReadCursor,
  type SessionSource,
} from '#sdk'
import { toEdit } from './changes.ts'
import type { InboundEvent, NormalizeContext } from './context.ts'
import type { JoinedThreads } from './joined-threads.ts'
import { messageLocationOf } from './message.ts'
import { normalize } from './normalize.ts'
import { asRecord, type JsonRecord, recordAt, textAt, tsAt } from './payload.ts'
import { isDirectMessage } from './source.ts'

export interface IngestResult {
  /** False: it was not stored, and Slack shall deliver it again. */
  readonly acknowledge: boolean
  /** For a slash command: what its writer is told at once. */
  readonly reply?: string
}

export interface Ingest {
  /** Resolves when what the payload says is on disk, or when it says nothing to us. Never rejects. */
  ingest(payload: unknown): Promise<IngestResult>
  /**
   * A message from the history of a channel. Rejects where nothing can be stored at present; one that cannot be taken for
   * a reason of its own is left out, so that it does not hold up all those behind it.
   */
  ingestStored(channel: string, message: JsonRecord): Promise<void>
}

export interface IngestDeps {
  readonly gateway: Pick<PlatformContext, 'accept' | 'change' | 'press'>
  readonly normalizeContext: NormalizeContext
  readonly threads: JoinedThreads
  readonly log: Logger
  /** A mention in a thread that was not read yet, with what was said before it. Never rejects. */
  withThreadContext(event: MessageEvent): Promise<MessageEvent>
  /** While history is fetched, what is read live must not mark what lies before it as read. */
  isCatchingUp(): boolean
  /** Tells one person something that only they see. Never rejects. */
  sendEphemeral(source: SessionSource, text: string): Promise<void>
}

const acknowledged: IngestResult = { acknowledge: true }

export function createIngest(deps: IngestDeps): Ingest {
  const { gateway, normalizeContext, threads, log, sendEphemeral } = deps
  /** What is being taken in a channel: the next of the channel comes after it. */
  const channelQueues = new Map<string, Promise<unknown>>()
  /** Messages of the history that were left out: while the disk is full they come by again and again. */
  const skippedMessages = createLruCache<true>(200)

  return {
    ingestStored,
    async ingest(payload) {
      const channel = channelOf(payload)
      const before = channel === undefined ? undefined : channelQueues.get(channel)
      const work = before === undefined ? ingestPayload(payload) : before.then(() => ingestPayload(payload))
      if (channel === undefined) return await work
      channelQueues.set(channel, work)
      const receipt = await work
      if (channelQueues.get(channel) === work) channelQueues.delete(channel)
      return receipt
    },
  }

  async function ingestStored(channel: string, message: JsonRecord): Promise<void> {
    try {
      await ingestFromHistory(channel, message)
    } catch (error) {
      if (isStoreUnavailable(error)) throw error
      const ts = tsAt(message) ?? ''
      const name = `${channel}:${ts}`
      if (skippedMessages.has(name)) return
      skippedMessages.set(name, true)
      log.error(
        { error, channel, ts },
        `a message of the history could not be taken, it is left out: ${messageOf(error)}`,
      )
    }
  }

  async function ingestFromHistory(channel: string, message: JsonRecord): Promise<void> {
    const direct = isDirectMessage({ channel }) ? { channel_type: 'im' } : {}
    const event = { ...message, ...direct, channel, type: 'message' }
    const payload = { type: 'event_callback', team_id: normalizeContext.identity.teamId, event }
    const thread = threadToLookUp(payload, normalizeContext)
    if (thread !== undefined) await threads.lookUp(thread.channel, thread.ts)
    const incoming = normalize(payload, normalizeContext)
    if (incoming.kind !== 'message') return
    const { event: said, keys, mark } = incoming
    const status = await accept(said.source, () => gateway.accept(said, keys, mark))
    const place = messageLocationOf(event)
    const editedTs = tsAt(recordAt(message, 'edited'))
    if (status !== 'duplicate' || place === undefined || editedTs === undefined) return
    // It was taken before, and may have been edited while nobody listened.
    const edit = toEdit(event, place, editedTs, normalizeContext)
    if (edit.kind === 'change') await change(edit)
  }

  /** Never rejects. */
  async function ingestPayload(payload: unknown): Promise<IngestResult> {
    try {
      const thread = threadToLookUp(payload, normalizeContext)
      if (thread !== undefined) await threads.lookUp(thread.channel, thread.ts)
      return await dispatch(normalize(payload, normalizeContext))
    } catch (error) {
      log.warn({ error }, `an event of Slack could not be stored and will be delivered again: ${messageOf(error)}`)
      return { acknowledge: false }
    }
  }

  async function dispatch(incoming: InboundEvent): Promise<IngestResult> {
    switch (incoming.kind) {
      case 'ignored':
        log.debug({ reason: incoming.reason }, 'nothing to do for an event of Slack')
        return acknowledged
      case 'message': {
        const { keys, mark } = incoming
        const event = await deps.withThreadContext(incoming.event)
        await accept(event.source, () => gateway.accept(event, keys, markNow(mark)))
        return acknowledged
      }
      case 'slash':
        return await acceptSlash(incoming)
      case 'change':
        await change(incoming)
        return acknowledged
      case 'press':
        return await press(incoming)
    }
  }

  function markNow(mark: ReadCursor): ReadCursor | undefined {
    return deps.isCatchingUp() ? undefined : mark
  }

  /** Rejects where it was not stored and may be next time. */
  async function accept(
    source: SessionSource,
    call: () => Promise<AcceptResult>,
  ): Promise<AcceptResult['status'] | 'too large'> {
    try {
      const { status } = await call()
      if (status !== 'refused') threads.recordIngested(source)
      return status
    } catch (error) {
      if (!isHermesError(error, 'inbox/too-large')) throw error
      // It will never fit: delivering it again would change nothing.
      void sendEphemeral(source, `${error.meaning} ${error.hint}`)
      return 'too large'
    }
  }

  /** Rejects where it was not stored and may be next time. */
  async function change({ change: changed, keys }: Extract<InboundEvent, { kind: 'change' }>): Promise<void> {
    try {
      await gateway.change(changed, keys)
    } catch (error) {
      if (!isHermesError(error, 'inbox/too-large')) throw error
      // The message stays as it was taken in.
      log.warn({ change: changed.kind, reason: error.message }, 'a change of a message is too large')
    }
  }

  async function acceptSlash({ event, keys }: Extract<InboundEvent, { kind: 'slash' }>): Promise<IngestResult> {
    try {
      const { status } = await gateway.accept(event, keys)
      if (status === 'refused') return { acknowledge: true, reply: 'You are not on the list of people I may talk to.' }
      return { acknowledge: true, reply: `Got it: ${event.text.slice(0, 100)}` }
    } catch (error) {
      log.warn({ error }, `a slash command could not be stored: ${messageOf(error)}`)
      // Slack does not deliver a command again, so its writer has to know.
      const { meaning, hint } = isHermesError(error) ? error : new HermesError('store/failed')
      return { acknowledge: true, reply: `${meaning} ${hint}` }
    }
  }

  async function press({ press: pressed }: Extract<InboundEvent, { kind: 'press' }>): Promise<IngestResult> {
    try {
      const { text } = await gateway.press(pressed)
      if (text !== '') void sendEphemeral(pressed.source, text)
    } catch (error) {
      log.warn({ error }, `a button could not be taken: ${messageOf(error)}`)
      // A press is not delivered again either.
      void sendEphemeral(pressed.source, 'That could not be stored just now. Please press the button again.')
    }
    return acknowledged
  }
}

/** Nothing can be stored now (a full disk, a gateway that starts or stops), whatever it is. */
function isStoreUnavailable(error: unknown): boolean {
  return isHermesError(error) && (error.code.startsWith('store/') || error.code === 'http/starting')
}

/** What belongs to one channel is taken in its order. */
function channelOf(payload: unknown): string | undefined {
  const body = asRecord(payload)
  const event = recordAt(body, 'event')
  return textAt(event, 'channel') ?? textAt(recordAt(event, 'item'), 'channel')
}

/** The thread of a message of which it has to be known whether the bot takes part. */
function threadToLookUp(payload: unknown, { rules }: NormalizeContext): { channel: string; ts: string } | undefined {
  if (!rules.requireMention || rules.strictMention) return undefined
  const event = recordAt(asRecord(payload), 'event')
  const changed = recordAt(event, 'message')
  const ts = tsAt(event, 'thread_ts') ?? tsAt(changed, 'thread_ts')
  const channel = textAt(event, 'channel')
  if (ts === undefined || channel === undefined || channel.startsWith('D')) return undefined
  return { channel, ts }
}
