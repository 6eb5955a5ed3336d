/**
 * Takes what came from Slack to the gateway, in the order it came, and says whether Slack may be told "got it".
 */
import {
  type Accepted,
  createRecent,
  HermesError,
  isHermesError,
  type Logger,
  type MessageEvent,
  messageOf,
  type PlatformContext,
  type ReadMark,
  type SessionSource,
} from '#sdk'
import { isDirect } from './address.ts'
import type { Incoming, View } from './incoming.ts'
import { normalize } from './normalize.ts'
import { editOf } from './normalize-change.ts'
import { placeOf } from './normalize-message.ts'
import { type Fields, fieldsIn, fieldsOf, textIn, tsIn } from './payload.ts'
import type { Threads } from './threads.ts'

export interface Receipt {
  /** False: it was not stored, and Slack shall deliver it again. */
  readonly acknowledge: boolean
  /** For a slash command: what its writer is told at once. */
  readonly reply?: string
}

export interface Receiver {
  /** Resolves when what the payload says is on disk, or when it says nothing to us. Never rejects. */
  receive(payload: unknown): Promise<Receipt>
  /**
   * A message from the history of a channel. Rejects where nothing can be stored at present; one that cannot be taken for
   * a reason of its own is left out, so that it does not hold up all those behind it.
   */
  takeStored(channel: string, message: Fields): Promise<void>
}

export interface ReceiverDeps {
  readonly gateway: Pick<PlatformContext, 'accept' | 'change' | 'press'>
  readonly view: View
  readonly threads: Threads
  readonly log: Logger
  /** A mention in a thread that was not read yet, with what was said before it. Never rejects. */
  withEarlier(event: MessageEvent): Promise<MessageEvent>
  /** While history is fetched, what is read live must not mark what lies before it as read. */
  marksHeld(): boolean
  /** Tells one person something that only they see. Never rejects. */
  tell(source: SessionSource, text: string): Promise<void>
}

const taken: Receipt = { acknowledge: true }

export function createReceiver(deps: ReceiverDeps): Receiver {
  const { gateway, view, threads, log, tell } = deps
  /** What is being taken in a channel: the next of the channel comes after it. */
  const lanes = new Map<string, Promise<unknown>>()
  /** Messages of the history that were left out: while the disk is full they come by again and again. */
  const leftOut = createRecent<true>(200)

  return {
    takeStored,
    async receive(payload) {
      const channel = channelOf(payload)
      const before = channel === undefined ? undefined : lanes.get(channel)
      const work = before === undefined ? take(payload) : before.then(() => take(payload))
      if (channel === undefined) return await work
      lanes.set(channel, work)
      const receipt = await work
      if (lanes.get(channel) === work) lanes.delete(channel)
      return receipt
    },
  }

  async function takeStored(channel: string, message: Fields): Promise<void> {
    try {
      await takeFromHistory(channel, message)
    } catch (error) {
      if (isOfTheStore(error)) throw error
      const ts = tsIn(message) ?? ''
      const name = `${channel}:${ts}`
      if (leftOut.has(name)) return
      leftOut.set(name, true)
      log.error(
        { error, channel, ts },
        `a message of the history could not be taken, it is left out: ${messageOf(error)}`,
      )
    }
  }

  async function takeFromHistory(channel: string, message: Fields): Promise<void> {
    const direct = isDirect({ channel }) ? { channel_type: 'im' } : {}
    const event = { ...message, ...direct, channel, type: 'message' }
    const payload = { type: 'event_callback', team_id: view.identity.teamId, event }
    const thread = unknownThread(payload, view)
    if (thread !== undefined) await threads.ask(thread.channel, thread.ts)
    const incoming = normalize(payload, view)
    if (incoming.kind !== 'message') return
    const { event: said, keys, mark } = incoming
    const status = await accept(said.source, () => gateway.accept(said, keys, mark))
    const place = placeOf(event)
    const editedTs = tsIn(fieldsIn(message, 'edited'))
    if (status !== 'duplicate' || place === undefined || editedTs === undefined) return
    // It was taken before, and may have been edited while nobody listened.
    const edit = editOf(event, place, editedTs, view)
    if (edit.kind === 'change') await change(edit)
  }

  /** Never rejects. */
  async function take(payload: unknown): Promise<Receipt> {
    try {
      const thread = unknownThread(payload, view)
      if (thread !== undefined) await threads.ask(thread.channel, thread.ts)
      return await hand(normalize(payload, view))
    } catch (error) {
      log.warn({ error }, `an event of Slack could not be stored and will be delivered again: ${messageOf(error)}`)
      return { acknowledge: false }
    }
  }

  async function hand(incoming: Incoming): Promise<Receipt> {
    switch (incoming.kind) {
      case 'ignored':
        log.debug({ reason: incoming.reason }, 'nothing to do for an event of Slack')
        return taken
      case 'message': {
        const { keys, mark } = incoming
        const event = await deps.withEarlier(incoming.event)
        await accept(event.source, () => gateway.accept(event, keys, markNow(mark)))
        return taken
      }
      case 'slash':
        return await acceptSlash(incoming)
      case 'change':
        await change(incoming)
        return taken
      case 'press':
        return await press(incoming)
    }
  }

  function markNow(mark: ReadMark): ReadMark | undefined {
    return deps.marksHeld() ? undefined : mark
  }

  /** Rejects where it was not stored and may be next time. */
  async function accept(
    source: SessionSource,
    call: () => Promise<Accepted>,
  ): Promise<Accepted['status'] | 'too large'> {
    try {
      const { status } = await call()
      if (status !== 'refused') threads.took(source)
      return status
    } catch (error) {
      if (!isHermesError(error, 'inbox/too-large')) throw error
      // It will never fit: delivering it again would change nothing.
      void tell(source, `${error.meaning} ${error.hint}`)
      return 'too large'
    }
  }

  /** Rejects where it was not stored and may be next time. */
  async function change({ change: changed, keys }: Extract<Incoming, { kind: 'change' }>): Promise<void> {
    try {
      await gateway.change(changed, keys)
    } catch (error) {
      if (!isHermesError(error, 'inbox/too-large')) throw error
      // The message stays as it was taken in.
      log.warn({ change: changed.kind, reason: error.message }, 'a change of a message is too large')
    }
  }

  async function acceptSlash({ event, keys }: Extract<Incoming, { kind: 'slash' }>): Promise<Receipt> {
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

  async function press({ press: pressed }: Extract<Incoming, { kind: 'press' }>): Promise<Receipt> {
    try {
      const { text } = await gateway.press(pressed)
      if (text !== '') void tell(pressed.source, text)
    } catch (error) {
      log.warn({ error }, `a button could not be taken: ${messageOf(error)}`)
      // A press is not delivered again either.
      void tell(pressed.source, 'That could not be stored just now. Please press the button again.')
    }
    return taken
  }
}

/** Nothing can be stored now (a full disk, a gateway that starts or stops), whatever it is. */
function isOfTheStore(error: unknown): boolean {
  return isHermesError(error) && (error.code.startsWith('store/') || error.code === 'http/starting')
}

/** What belongs to one channel is taken in its order. */
function channelOf(payload: unknown): string | undefined {
  const body = fieldsOf(payload)
  const event = fieldsIn(body, 'event')
  return textIn(event, 'channel') ?? textIn(fieldsIn(event, 'item'), 'channel')
}

/** The thread of a message of which it has to be known whether the bot takes part. */
function unknownThread(payload: unknown, { rules }: View): { channel: string; ts: string } | undefined {
  if (!rules.requireMention || rules.strictMention) return undefined
  const event = fieldsIn(fieldsOf(payload), 'event')
  const changed = fieldsIn(event, 'message')
  const ts = tsIn(event, 'thread_ts') ?? tsIn(changed, 'thread_ts')
  const channel = textIn(event, 'channel')
  if (ts === undefined || channel === undefined || channel.startsWith('D')) return undefined
  return { channel, ts }
}
