/**
 * Ingests events of Discord's gateway: updates the guild cache, and passes what users wrote or did to the gateway, in the
 * order of their channel.
 */
import {
  type HermesError,
  isHermesError,
  messageOf,
  type OutboundMessage,
  type PlatformContext,
  type SendResult,
} from '#sdk'
import { type Api, retryAfterRateLimit } from '../connection/api.ts'
import { describeError, isRejected } from '../errors.ts'
import type { DiscordOptions } from '../options.ts'
import type { ThreadOpener } from '../outbound/threads.ts'
import { isChannelAllowed } from './addressing.ts'
import { type CatchUp, createCatchUp } from './catch-up.ts'
import { createChannelQueue } from './channel-queue.ts'
import { createEarlierMessages } from './earlier-messages.ts'
import type { GuildCache } from './guild-cache.ts'
import type { InteractionResponder } from './interaction-responder.ts'
import { parseInteraction } from './interactions.ts'
import { type InboundEvent, type NormalizeContext, nameResolverOf, normalize } from './normalize.ts'
import { type Dispatch, idAt, type JsonRecord, recordAt, recordsAt } from './payload.ts'
import { channelContextOf } from './source.ts'

export interface IngestDeps {
  readonly context: Pick<
    PlatformContext,
    'platform' | 'account' | 'accept' | 'acceptIfDelayed' | 'change' | 'rateLimited' | 'catchUp' | 'clock' | 'log'
  >
  readonly api: Api
  readonly guildCache: GuildCache
  readonly threads: Pick<ThreadOpener, 'expectThread'>
  readonly options: DiscordOptions
  readonly respondToInteraction: InteractionResponder
  send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
  /** Called for each message of the bot itself. */
  onOwnMessage(message: JsonRecord): void
  readonly random: () => number
  readonly signal: AbortSignal
}

export interface Ingest {
  onReady(data: JsonRecord, session: string): void
  onDispatch(event: Dispatch, session: string): void
}

/** Events that users cause and that are ingested. */
const ingestedEvents: ReadonlySet<string> = new Set([
  'MESSAGE_CREATE',
  'MESSAGE_UPDATE',
  'MESSAGE_DELETE',
  'MESSAGE_DELETE_BULK',
  'MESSAGE_REACTION_ADD',
  'MESSAGE_REACTION_REMOVE',
])

export function createIngest(deps: IngestDeps): Ingest {
  const { context, api, guildCache, options, signal } = deps
  const { log } = context
  const addEarlierMessages = createEarlierMessages({ api, limit: options.contextMessages, signal, log })
  const queue = createChannelQueue({
    log,
    random: deps.random,
    signal,
    onOverflow: (channel) => catchUp.refetch(channel),
  })
  const catchUp: CatchUp = createCatchUp({
    api,
    guildCache,
    queue,
    signal,
    log,
    cursors: context.catchUp.cursors,
    maxMessages: context.catchUp.limit,
    reportSkipped,
    clock: context.clock,
    needsRoles: options.allowedRoles.length > 0,
    ingest: (d) => ingestEvent({ t: 'MESSAGE_CREATE', s: 0, d }, 'history'),
  })

  return {
    onReady(data) {
      guildCache.handleReady(data)
      catchUp.begin(recordsAt(data, 'guilds').flatMap((guild) => idAt(guild, 'id') ?? []))
    },
    onDispatch(event, session) {
      const { t, d } = event
      guildCache.update(event)
      if (t === 'GUILD_CREATE' || t === 'GUILD_DELETE') return catchUp.guildReady(idAt(d, 'id'))
      if (t === 'INTERACTION_CREATE') return handleInteraction(d, session)
      if (!ingestedEvents.has(t)) return
      if (t === 'MESSAGE_CREATE') noteMessage(d)
      const channel = idAt(d, 'channel_id')
      if (channel === undefined) return
      catchUp.enqueueBefore(channel)
      const mustWait = queue.isBusy(channel)
      queue.push(channel, async () => void (await ingestEvent(event, session)))
      if (mustWait && t === 'MESSAGE_CREATE') overtake(event, session, queue.idle(channel))
    },
  }

  /** A message whose channel is not known yet, or whose response opens a thread, has no turn to stop. */
  function overtake(event: Dispatch, session: string, inOrder: Promise<unknown>): void {
    const channel = idAt(event.d, 'channel_id') ?? ''
    if (idAt(event.d, 'guild_id') !== undefined && guildCache.channel(channel) === undefined) return
    for (const inbound of normalize(event, contextFor(session))) {
      if (inbound.kind === 'message' && inbound.event.source.prospectiveThreadId === undefined)
        context.acceptIfDelayed(inbound.event, inbound.keys, inOrder)
    }
  }

  function noteMessage(message: JsonRecord): void {
    const id = idAt(message, 'id')
    if (id !== undefined) catchUp.seen(id)
    if (idAt(recordAt(message, 'author'), 'id') === guildCache.botUser()?.id) deps.onOwnMessage(message)
  }

  /** Runs in the background. */
  function reportSkipped(channel: string, skipped: string, limit: number): void {
    const place = channelContextOf({ channel_id: channel }, guildCache.channel(channel))
    if (place === undefined || !isChannelAllowed(place, options)) return
    const text =
      `I was not connected, and more than ${limit} messages were written here in the meantime. ` +
      `I read the newest ${limit}; please send older ones again if they still matter.`
    const { platform, account } = context
    const { chatId, threadId } = place.source
    const target = { platform, account, chatId, ...(threadId === undefined ? {} : { threadId }) }
    void sendNotice(deps, { deliveryId: `dc:${skipped}:skipped`, target, text, kind: 'notice' })
  }

  function contextFor(sessionId: string): NormalizeContext {
    return {
      platform: context.platform,
      account: context.account,
      options,
      guildCache,
      sessionId,
      now: context.clock(),
    }
  }

  /** Rejects when an event could not be stored. False: every event was known. */
  async function ingestEvent(event: Dispatch, session: string): Promise<boolean> {
    await ensureChannelKnown(deps, event.d)
    let isNew = false
    for (const inbound of normalize(event, contextFor(session))) isNew = (await ingestInbound(inbound)) || isNew
    return isNew
  }

  async function ingestInbound(inbound: InboundEvent): Promise<boolean> {
    if (inbound.kind === 'change') return await ingestChange(inbound)
    const { keys, mark } = inbound
    const event =
      inbound.mayNeedContext === true
        ? await addEarlierMessages(inbound.event, mark.place, nameResolverOf(contextFor('')))
        : inbound.event
    const { prospectiveThreadId } = event.source
    try {
      const { status } = await context.accept(event, keys, mark)
      if (status === 'accepted' && prospectiveThreadId !== undefined)
        deps.threads.expectThread(prospectiveThreadId, event.text)
      return status === 'accepted'
    } catch (error) {
      if (!isHermesError(error, 'inbox/too-large')) throw error
      void notifyTooLarge(deps, inbound, error)
      return false
    }
  }

  async function ingestChange({ change, keys }: Extract<InboundEvent, { kind: 'change' }>): Promise<boolean> {
    try {
      const { status } = await context.change(change, keys)
      return status === 'accepted'
    } catch (error) {
      // The stored message stays unchanged.
      if (!isHermesError(error, 'inbox/too-large')) throw error
      log.warn(
        { event: 'discord.change_too_large', change: change.kind, reason: error.message },
        'change of a message is too large',
      )
      return false
    }
  }

  function handleInteraction(data: JsonRecord, session: string): void {
    const interaction = parseInteraction(data, contextFor(session))
    if (interaction === undefined) return
    deps
      .respondToInteraction(interaction)
      .catch((error) =>
        log.warn({ event: 'discord.interaction_failed', reason: messageOf(error) }, 'interaction got no response'),
      )
  }
}

type NoticeDeps = Pick<IngestDeps, 'context' | 'send' | 'signal'>

/** Tells the user, because another attempt cannot succeed. Runs in the background. Never rejects. */
async function notifyTooLarge(
  deps: NoticeDeps,
  { event, keys }: Extract<InboundEvent, { kind: 'message' }>,
  error: HermesError,
): Promise<void> {
  const { platform, account, chatId, threadId } = event.source
  // Without a prospective thread: the notice belongs next to the message.
  const target = { platform, account, chatId, ...(threadId === undefined ? {} : { threadId }) }
  const text = `${error.message} ${error.hint}`
  const reference = event.messageId === undefined ? {} : { replyTo: event.messageId }
  await sendNotice(deps, { deliveryId: `${keys[0]}:too-large`, target, text, kind: 'notice', ...reference })
}

/** Never rejects. */
async function sendNotice({ context, send, signal }: NoticeDeps, notice: OutboundMessage): Promise<void> {
  try {
    const result = await context.rateLimited(notice.target, signal, (call) => send(notice, call))
    if (!result.success)
      context.log.warn({ event: 'discord.notice_failed', reason: result.error }, 'a notice was not sent')
  } catch (error) {
    context.log.debug({ event: 'discord.notice_failed', reason: messageOf(error) }, 'a notice was not sent')
  }
}

/** Fetches a channel that Discord's gateway did not send, such as an archived thread. */
async function ensureChannelKnown({ api, context, guildCache, signal }: IngestDeps, data: JsonRecord): Promise<void> {
  const id = idAt(data, 'channel_id')
  const guild = idAt(data, 'guild_id')
  if (id === undefined || guild === undefined || guildCache.channel(id) !== undefined) return
  try {
    const channel = await retryAfterRateLimit(signal, () => api.channel(id, signal))
    guildCache.updateChannel({ ...Object(channel), guild_id: guild })
  } catch (error) {
    if (!isRejected(error)) throw error
    context.log.debug(
      { event: 'discord.channel_not_found', channel: id, reason: describeError(error) },
      'channel cannot be read',
    )
  }
}
