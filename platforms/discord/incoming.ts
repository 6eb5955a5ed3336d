/**
 * What happens to an event of the gateway: the directory learns from it, and what people wrote or did is handed in, in the
 * order of its channel.
 */
import {
  type HermesError,
  isHermesError,
  messageOf,
  type OutboundMessage,
  type PlatformContext,
  type SendResult,
} from '#sdk'
import type { AnswerInteraction } from './answering.ts'
import type { Api } from './api.ts'
import { type CatchUp, createCatchUp } from './catch-up.ts'
import type { Directory } from './directory.ts'
import { explain, isRefusal } from './errors.ts'
import { createIntake } from './intake.ts'
import { readInteraction } from './interactions.ts'
import { type Inbound, normalize, type View } from './normalize.ts'
import type { Options } from './options.ts'
import { patiently } from './patience.ts'
import type { Threads } from './threads.ts'
import { type Dispatch, idAt, type Json, objectAt, objectsAt } from './wire.ts'

export interface IncomingDeps {
  readonly context: Pick<
    PlatformContext,
    'platform' | 'account' | 'accept' | 'change' | 'paced' | 'marks' | 'clock' | 'log' | 'received'
  >
  readonly api: Api
  readonly directory: Directory
  readonly threads: Pick<Threads, 'expect'>
  readonly options: Options
  readonly answer: AnswerInteraction
  send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
  /** A message of the bot itself was seen. */
  onEcho(message: Json): void
  readonly random: () => number
  readonly signal: AbortSignal
}

export interface Incoming {
  onReady(data: Json, session: string): void
  onEvent(event: Dispatch, session: string): void
}

/** Events that people cause, and that are handed in. */
const handedIn: ReadonlySet<string> = new Set([
  'MESSAGE_CREATE',
  'MESSAGE_UPDATE',
  'MESSAGE_DELETE',
  'MESSAGE_DELETE_BULK',
  'MESSAGE_REACTION_ADD',
  'MESSAGE_REACTION_REMOVE',
])

export function createIncoming(deps: IncomingDeps): Incoming {
  const { context, api, directory, options, signal } = deps
  const { log } = context
  const intake = createIntake({ log, random: deps.random, signal, onOverflow: (channel) => catchUp.again(channel) })
  const catchUp: CatchUp = createCatchUp({
    api,
    directory,
    intake,
    signal,
    log,
    marks: context.marks,
    clock: context.clock,
    needsRoles: options.allowedRoles.length > 0,
    handIn: (d) => takeIn({ t: 'MESSAGE_CREATE', s: 0, d }, 'history'),
  })

  return {
    onReady(data) {
      directory.ready(data)
      catchUp.begin(objectsAt(data, 'guilds').flatMap((guild) => idAt(guild, 'id') ?? []))
    },
    onEvent(event, session) {
      const { t, d } = event
      directory.learn(event)
      if (t === 'GUILD_CREATE' || t === 'GUILD_DELETE') return catchUp.arrived(idAt(d, 'id'))
      if (t === 'INTERACTION_CREATE') return interact(d, session)
      if (!handedIn.has(t)) return
      if (t === 'MESSAGE_CREATE') note(d)
      const channel = idAt(d, 'channel_id')
      if (channel === undefined) return
      catchUp.ahead(channel)
      intake.push(channel, async () => void (await takeIn(event, session)))
    },
  }

  function note(message: Json): void {
    const id = idAt(message, 'id')
    if (id !== undefined) catchUp.seen(id)
    if (idAt(objectAt(message, 'author'), 'id') === directory.me()?.id) deps.onEcho(message)
  }

  function viewIn(session: string): View {
    return {
      platform: context.platform,
      account: context.account,
      options,
      directory,
      session,
      now: context.clock(),
    }
  }

  /** Rejects when something was not stored. False: nothing of it was new. */
  async function takeIn(event: Dispatch, session: string): Promise<boolean> {
    await know(event.d)
    let isNew = false
    for (const inbound of normalize(event, viewIn(session))) isNew = (await handIn(inbound)) || isNew
    return isNew
  }

  async function handIn(inbound: Inbound): Promise<boolean> {
    if (inbound.kind === 'change') return await handInChange(inbound)
    const { event, keys, mark } = inbound
    const { prospectiveThreadId } = event.source
    try {
      const { status } = await context.accept(event, keys, mark)
      if (status === 'accepted' && prospectiveThreadId !== undefined)
        deps.threads.expect(prospectiveThreadId, event.text)
      return status === 'accepted'
    } catch (error) {
      if (!isHermesError(error, 'inbox/too-large')) throw error
      void refuse(inbound, error)
      return false
    }
  }

  async function handInChange({ change, keys }: Extract<Inbound, { kind: 'change' }>): Promise<boolean> {
    try {
      const { status } = await context.change(change, keys)
      return status === 'accepted'
    } catch (error) {
      // The message stays as it was taken in.
      if (!isHermesError(error, 'inbox/too-large')) throw error
      log.warn({ change: change.kind, reason: error.message }, 'a change of a message is too large')
      return false
    }
  }

  /** It will never fit, so the person has to know. Never rejects, and nothing waits for it. */
  async function refuse({ event, keys }: Extract<Inbound, { kind: 'message' }>, error: HermesError): Promise<void> {
    const { platform, account, chatId, threadId } = event.source
    // Not one that is still to be opened: the refusal stands beside what it refuses.
    const target = { platform, account, chatId, ...(threadId === undefined ? {} : { threadId }) }
    const text = `${error.message} ${error.hint}`
    const reference = event.messageId === undefined ? {} : { replyTo: event.messageId }
    const notice: OutboundMessage = { deliveryId: `${keys[0]}:too-large`, target, text, kind: 'notice', ...reference }
    try {
      const result = await context.paced(target, signal, (call) => deps.send(notice, call))
      if (!result.success) log.warn({ reason: result.error }, 'nobody could be told that a message is too large')
    } catch (error) {
      log.debug({ reason: messageOf(error) }, 'nobody could be told that a message is too large')
    }
  }

  /** A channel that the gateway did not tell of (an archived thread) is looked at once. */
  async function know(data: Json): Promise<void> {
    const id = idAt(data, 'channel_id')
    const guild = idAt(data, 'guild_id')
    if (id === undefined || guild === undefined || directory.channel(id) !== undefined) return
    try {
      const channel = await patiently(signal, () => api.channel(id, signal))
      directory.learnChannel({ ...Object(channel), guild_id: guild })
    } catch (error) {
      if (!isRefusal(error)) throw error
      log.debug({ channel: id, reason: explain(error) }, 'a channel cannot be looked at')
    }
  }

  function interact(data: Json, session: string): void {
    const interaction = readInteraction(data, viewIn(session))
    if (interaction === undefined) return
    deps.answer(interaction).catch((error) => log.warn({ reason: messageOf(error) }, 'an interaction was not answered'))
  }
}
