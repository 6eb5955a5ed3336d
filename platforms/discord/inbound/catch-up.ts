/**
 * Fetches the messages that were written while no session was connected, and ingests them before live events of the same
 * channel. Limited in chats, messages and age.
 */
import { messageOf, sleep, withTimeout } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { describeError, isRejected } from '../errors.ts'
import type { ChannelQueue } from './channel-queue.ts'
import { type GuildCache, isThread } from './guild-cache.ts'
import { fetchMissed, type MissedMessages } from './missed-messages.ts'
import type { Notices } from './notices.ts'
import type { JsonRecord } from './payload.ts'
import { isNewer, newest, snowflakeToTime, timeToSnowflake } from './snowflake.ts'

export interface CatchUp {
  /** A session began, on these servers. Events from before it are not sent again. */
  begin(guilds: readonly string[]): void
  /** The state of a server arrived, or the server is unavailable. */
  guildReady(guild: string | undefined): void
  /** Call before queueing an event, so that messages that were missed in its channel precede it. */
  enqueueBefore(channel: string): void
  /** A live message arrived. */
  seen(id: string): void
  /** Fetches one channel again from its cursor on. */
  refetch(channel: string): void
}

const maxChannels = 500
const maxAgeMs = 24 * 3_600_000
const maxConcurrentFetches = 4
/** The state of a server follows READY shortly. Its channels are read later when it takes longer. */
const guildTimeoutMs = 3_000
/** Messages may arrive out of order by this time, across channels and within one. Known messages are deduplicated. */
const skewMs = 60_000
/** A channel without a cursor may have a message that was not stored, although a later one elsewhere was. */
const unknownChannelSkewMs = 600_000

/** Where reading begins in one channel. */
interface StartPoint {
  /** Everything after it is read. */
  readonly after: string
  /** What follows it was missed. It is newer than `after`, because messages may arrive out of order. */
  readonly since: string
  /** The agent has read messages of this channel before. */
  readonly hasCursor: boolean
}

type CatchUpPlan = ReadonlyMap<string, StartPoint>

/** The work that one session of Discord's gateway begins with. */
interface Round {
  /** The last live message before it; undefined in the first round of a process. */
  readonly since: string | undefined
  readonly awaited: Set<string>
  readonly allArrived: PromiseWithResolvers<void>
  /** Channels that are already queued in this round. */
  readonly queued: Set<string>
  readonly plan: Promise<CatchUpPlan>
  /** Set when the plan was made. */
  cursors?: ReadonlyMap<string, string>
}

/** @param ingest ingests a message as if Discord's gateway had sent it; false: it was known */
export function createCatchUp(
  account: DiscordAccount,
  channelQueue: ChannelQueue,
  notices: Notices,
  ingest: (message: JsonRecord) => Promise<boolean>,
): CatchUp {
  const { log, catchUp, clock } = account.context
  const { signal } = account.stopping
  const limitFetches = createSemaphore(maxConcurrentFetches)
  let lastSeen: string | undefined
  let current: Round | undefined

  return {
    begin(guilds) {
      // A session may end before its round is planned. The messages that it should have read are read by the next one.
      const since = current !== undefined && current.cursors === undefined ? current.since : lastSeen
      const awaited = new Set(guilds)
      const allArrived = Promise.withResolvers<void>()
      if (awaited.size === 0) allArrived.resolve()
      const planned = Promise.withResolvers<CatchUpPlan>()
      const round: Round = { since, awaited, allArrived, queued: new Set(), plan: planned.promise }
      current = round
      void readCursors(allArrived.promise).then((cursors) => {
        const plan = planFor(account, cursors, since)
        planned.resolve(plan)
        if (current !== round) return
        // Without a pause in between, so that no live event is queued before the missed messages of its channel.
        round.cursors = cursors
        for (const channel of plan.keys()) queue(round, channel)
      })
    },
    guildReady(guild) {
      if (current === undefined || !current.awaited.delete(guild ?? '')) return
      if (current.awaited.size === 0) current.allArrived.resolve()
      const { cursors, since } = current
      if (cursors === undefined) return
      // The server was late. Its channels become known only now, and its live events follow.
      const late = planFor(account, cursors, since)
      for (const channel of late.keys()) queue(current, channel, Promise.resolve(late))
    },
    enqueueBefore(channel) {
      if (current !== undefined && current.cursors === undefined) queue(current, channel)
    },
    seen(id) {
      if (lastSeen === undefined || isNewer(id, lastSeen)) lastSeen = id
    },
    refetch(channel) {
      const findStart = async () => {
        const cursor = (await catchUp.cursors()).get(channel)
        // Without a cursor nothing in this channel was addressed to the bot so far.
        return startPoint(cursor ?? timeToSnowflake(clock() - maxAgeMs), cursor !== undefined)
      }
      channelQueue.push(channel, readJob(channel, findStart))
    },
  }

  function queue(round: Round, channel: string, plan = round.plan): void {
    if (round.queued.has(channel)) return
    round.queued.add(channel)
    channelQueue.push(
      channel,
      readJob(channel, async () => (await plan).get(channel)),
    )
  }

  /** Retries until the cursors can be read. Never rejects. */
  async function readCursors(allArrived: Promise<void>): Promise<ReadonlyMap<string, string>> {
    await withTimeout(allArrived, guildTimeoutMs, signal)
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return await catchUp.cursors()
      } catch (error) {
        log.warn(
          { event: 'discord.cursors_failed', attempt, reason: messageOf(error) },
          'cursors could not be read; trying again',
        )
        await sleep(Math.min(10_000, 200 * 2 ** attempt), signal)
      }
    }
    return new Map()
  }

  /** A job for the queue. It rejects when another attempt can succeed, and continues where the last one failed. */
  function readJob(channel: string, findStart: () => Promise<StartPoint | undefined>): () => Promise<void> {
    let pending: JsonRecord[] | undefined
    return async () => {
      pending ??= await fetchPending(channel, await findStart())
      await ingestAll(channel, pending)
    }
  }

  /** Read once: at another attempt, messages of the meantime would displace the oldest ones. */
  async function fetchPending(channel: string, start: StartPoint | undefined): Promise<JsonRecord[]> {
    if (start === undefined) return []
    const limit = catchUp.limit()
    try {
      const missed = await limitFetches(() => fetchMissed(account, channel, start.after, limit))
      reportSkipped(channel, start, missed, limit)
      return [...missed.messages]
    } catch (error) {
      if (!isRejected(error)) throw error
      // The channel was deleted, or the bot no longer sees it.
      log.debug(
        { event: 'discord.catch_up_failed', channel, reason: describeError(error) },
        'missed messages of a channel cannot be fetched',
      )
      return []
    }
  }

  /** Before the messages are ingested: afterwards the cursor would hide from the next process that some were skipped. */
  function reportSkipped(channel: string, start: StartPoint, { messages, skipped }: MissedMessages, limit: number) {
    if (skipped === undefined || !isNewer(skipped, start.since)) return
    log.warn(
      { event: 'discord.messages_skipped', channel, fetched: messages.length, limit },
      'more messages were missed than catch_up.max allows; the oldest are skipped',
    )
    if (start.hasCursor) notices.reportSkipped(channel, skipped, limit)
  }

  /**
   * Removes the ingested messages from the list. Logs how many were missed: the fetched ones also contain known messages
   * and the bot's own.
   */
  async function ingestAll(channel: string, pending: JsonRecord[]): Promise<void> {
    let ingested = 0
    try {
      for (let message = pending[0]; message !== undefined; message = pending[0]) {
        if (await ingest(message)) ingested += 1
        pending.shift()
      }
    } finally {
      if (ingested > 0)
        log.info({ event: 'discord.caught_up', channel, messages: ingested }, 'missed messages were ingested')
    }
  }
}

function startPoint(since: string, hasCursor: boolean): StartPoint {
  return { after: timeToSnowflake(snowflakeToTime(since) - skewMs), since, hasCursor }
}

/** `lastLive`: the last live message, undefined before the first session. Selects the channels with the newest messages. */
function planFor(
  { guildCache, context: { clock, log } }: DiscordAccount,
  cursors: ReadonlyMap<string, string>,
  lastLive: string | undefined,
): CatchUpPlan {
  const horizon = timeToSnowflake(clock() - maxAgeMs)
  const newestCursor = newest(cursors.values())
  if (lastLive === undefined && newestCursor === undefined) return new Map()
  const newestIn = guildCache.newestMessages()
  const channels: { channel: string; start: StartPoint; last: string }[] = []
  const consider = (channel: string, since: string, hasCursor: boolean) => {
    const start = startPoint(
      newest([since, horizon, ...(lastLive === undefined ? [] : [lastLive])]) ?? since,
      hasCursor,
    )
    const last = newestIn.get(channel)
    // The message with the cursor may have overtaken an earlier one, so both are read again.
    if (last !== undefined && !isNewer(last, start.after)) return
    channels.push({ channel, start, last: last ?? since })
  }
  for (const [channel, cursor] of cursors) consider(channel, cursor, true)
  for (const channel of newestIn.keys()) {
    if (!cursors.has(channel)) consider(channel, firstMessageOf(guildCache, channel, newestCursor ?? horizon), false)
  }
  const first = channels.sort((a, b) => (isNewer(a.last, b.last) ? -1 : 1)).slice(0, maxChannels)
  if (first.length < channels.length) {
    log.warn(
      { event: 'discord.channels_skipped', channels: channels.length - first.length, limit: maxChannels },
      'too many channels have missed messages; those with the oldest are skipped',
    )
  }
  return new Map(first.map(({ channel, start }) => [channel, start]))
}

/**
 * The message after which a channel without a cursor is read. A thread of the bot is read from its beginning, since no
 * message in it was ever stored. In other channels what is older than the last known message counts as seen.
 */
function firstMessageOf(guildCache: GuildCache, id: string, newestCursor: string): string {
  const channel = guildCache.channel(id)
  if (isThread(channel) && (channel?.joined === true || channel?.ownerId === guildCache.botUser()?.id)) return id
  return timeToSnowflake(snowflakeToTime(newestCursor) - unknownChannelSkewMs)
}

/** Limits how many calls run at once. */
function createSemaphore(count: number) {
  let free = count
  const waiting: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free -= 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
