/**
 * Ingests events of Discord's gateway: updates the guild cache, and passes what users wrote or did to the gateway, in the
 * order of their channel.
 */
import { isHermesError, messageOf } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { retryAfterRateLimit } from '../connection/api.ts'
import { describeError, isRejected } from '../errors.ts'
import type { Sender } from '../outbound/sender.ts'
import { type CatchUp, createCatchUp } from './catch-up.ts'
import { createChannelQueue } from './channel-queue.ts'
import { createEarlierMessages } from './earlier-messages.ts'
import type { InteractionResponder } from './interaction-responder.ts'
import { parseInteraction } from './interactions.ts'
import { type InboundEvent, type NormalizeContext, nameResolverOf, normalize } from './normalize.ts'
import { createNotices } from './notices.ts'
import { type Dispatch, idAt, type JsonRecord, recordAt, recordsAt } from './payload.ts'

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

export function createIngest(
  account: DiscordAccount,
  sender: Sender,
  respondToInteraction: InteractionResponder,
): Ingest {
  const { context, guildCache, options, threads, stopping } = account
  const { log } = context
  const addEarlierMessages = createEarlierMessages(account)
  const queue = createChannelQueue(log, stopping.signal, (channel) => catchUp.refetch(channel))
  const notices = createNotices(account, sender.send)
  const catchUp: CatchUp = createCatchUp(account, queue, notices, (d) =>
    ingestEvent({ t: 'MESSAGE_CREATE', s: 0, d }, 'history'),
  )

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
    if (idAt(recordAt(message, 'author'), 'id') === guildCache.botUser()?.id) sender.recordEcho(message)
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
    await ensureChannelKnown(account, event.d)
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
        threads.expectThread(prospectiveThreadId, event.text)
      return status === 'accepted'
    } catch (error) {
      if (!isHermesError(error, 'inbox/too-large')) throw error
      notices.reportTooLarge(inbound, error)
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
    respondToInteraction(interaction).catch((error) =>
      log.warn({ event: 'discord.interaction_failed', reason: messageOf(error) }, 'interaction got no response'),
    )
  }
}

/** Fetches a channel that Discord's gateway did not send, such as an archived thread. */
async function ensureChannelKnown(
  { api, context, guildCache, stopping: { signal } }: DiscordAccount,
  data: JsonRecord,
): Promise<void> {
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
