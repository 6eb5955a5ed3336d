/**
 * Fetches the messages that were written while no session was connected, and ingests them before live events of the same
 * channel. Limited in chats, messages and age.
 */
import { type Logger, messageOf, sleep, withTimeout } from '#sdk'
import { type Api, retryAfterRateLimit } from '../connection/api.ts'
import { describeError, isRejected } from '../errors.ts'
import type { ChannelQueue } from './channel-queue.ts'
import type { GuildCache } from './guild-cache.ts'
import { asRecord, idAt, isRecord, type JsonRecord, recordAt } from './payload.ts'
import { isNewer, newest, snowflakeToTime, timeToSnowflake } from './snowflake.ts'

export interface CatchUpDeps {
  readonly api: Pick<Api, 'newestMessages' | 'channel' | 'member'>
  readonly guildCache: GuildCache
  readonly queue: ChannelQueue
  /** By channel: the last message that was ingested, also by an earlier process. */
  cursors(): Promise<ReadonlyMap<string, string>>
  /** Ingests a message as if Discord's gateway had sent it. False: it was known. */
  ingest(message: JsonRecord): Promise<boolean>
  /** Whether roles authorize users. Fetched messages lack roles, so members are fetched as well. */
  readonly needsRoles: boolean
  readonly clock: () => number
  readonly signal: AbortSignal
  readonly log: Logger
}

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

const maxChannels = 100
const maxMessagesPerChannel = 50
const maxAgeMs = 24 * 3_600_000
const maxConcurrentFetches = 4
/** The state of a server follows READY shortly; a server without it is skipped. */
const guildTimeoutMs = 3_000
/** Messages may arrive out of order by this time, across channels and within one. Known messages are deduplicated. */
const skewMs = 60_000
const channelSkewMs = 5_000

/** By channel: the message after which it is read. */
type CatchUpPlan = ReadonlyMap<string, string>

export function createCatchUp(deps: CatchUpDeps): CatchUp {
  const { queue: channelQueue, signal, log } = deps
  const limitFetches = createSemaphore(maxConcurrentFetches)
  let lastSeen: string | undefined
  let awaited = new Set<string>()
  let allArrived = Promise.withResolvers<void>()
  /** Channels that are already queued in this round. */
  let queued = new Set<string>()
  let plan: Promise<CatchUpPlan> = Promise.resolve(new Map())
  let isPlanning = false

  return {
    begin(guilds) {
      awaited = new Set(guilds)
      allArrived = Promise.withResolvers()
      if (awaited.size === 0) allArrived.resolve()
      queued = new Set()
      isPlanning = true
      const since = lastSeen
      const round = makePlan(since)
      plan = round
      void round.then((found) => {
        if (plan !== round) return
        isPlanning = false
        for (const channel of found.keys()) queue(channel)
      })
    },
    guildReady(guild) {
      awaited.delete(guild ?? '')
      if (awaited.size === 0) allArrived.resolve()
    },
    enqueueBefore(channel) {
      if (isPlanning) queue(channel)
    },
    seen(id) {
      if (lastSeen === undefined || isNewer(id, lastSeen)) lastSeen = id
    },
    refetch(channel) {
      channelQueue.push(channel, async () => fetchSince(channel, (await deps.cursors()).get(channel)))
    },
  }

  function queue(channel: string): void {
    if (queued.has(channel)) return
    queued.add(channel)
    const round = plan
    channelQueue.push(channel, async () => fetchSince(channel, (await round).get(channel)))
  }

  /** Retries until the cursors can be read. Never rejects. */
  async function makePlan(since: string | undefined): Promise<CatchUpPlan> {
    await withTimeout(allArrived.promise, guildTimeoutMs, signal)
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return planFor(deps, await deps.cursors(), since)
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

  /** Rejects when another attempt can succeed. */
  async function fetchSince(channel: string, after: string | undefined): Promise<void> {
    if (after === undefined) return
    try {
      await ingestAll(channel, await limitFetches(() => fetchMissed(deps, channel, after)))
    } catch (error) {
      if (!isRejected(error)) throw error
      // The channel was deleted, or the bot no longer sees it.
      log.debug(
        { event: 'discord.catch_up_failed', channel, reason: describeError(error) },
        'missed messages of a channel cannot be fetched',
      )
    }
  }

  /** Logs how many messages were missed. The fetched ones also contain known messages and the bot's own. */
  async function ingestAll(channel: string, messages: readonly JsonRecord[]): Promise<void> {
    let ingested = 0
    try {
      for (const message of messages) if (await deps.ingest(message)) ingested += 1
    } finally {
      if (ingested > 0)
        log.info({ event: 'discord.caught_up', channel, messages: ingested }, 'missed messages were ingested')
    }
  }
}

/** `since`: the last live message, undefined before the first session. Selects the channels with the newest messages. */
function planFor(
  { guildCache, clock }: Pick<CatchUpDeps, 'guildCache' | 'clock'>,
  cursors: ReadonlyMap<string, string>,
  since: string | undefined,
): CatchUpPlan {
  const horizon = timeToSnowflake(clock() - maxAgeMs)
  const live = since === undefined ? undefined : timeToSnowflake(snowflakeToTime(since) - skewMs)
  // In a channel without a cursor, everything before the last known message counts as seen.
  const floor = live ?? newest(cursors.values())
  if (floor === undefined) return new Map()
  const newestIn = guildCache.newestMessages()
  const found: { channel: string; after: string; last: string }[] = []
  const consider = (channel: string, cursor: string) => {
    const after = newest([cursor, horizon, ...(live === undefined ? [] : [live])]) ?? cursor
    const last = newestIn.get(channel)
    if (last !== undefined && !isNewer(last, after)) return
    found.push({ channel, after: timeToSnowflake(snowflakeToTime(after) - channelSkewMs), last: last ?? cursor })
  }
  for (const [channel, cursor] of cursors) consider(channel, cursor)
  for (const channel of newestIn.keys()) if (!cursors.has(channel)) consider(channel, floor)
  const first = found.sort((one, other) => (isNewer(one.last, other.last) ? -1 : 1)).slice(0, maxChannels)
  return new Map(first.map(({ channel, after }) => [channel, after]))
}

type FetchDeps = Pick<CatchUpDeps, 'api' | 'guildCache' | 'needsRoles' | 'signal'>

/** Returns the messages after `after` in the form of the gateway's events, oldest first. */
async function fetchMissed(deps: FetchDeps, channel: string, after: string): Promise<readonly JsonRecord[]> {
  const { api, guildCache, signal } = deps
  if (guildCache.channel(channel) === undefined) {
    guildCache.updateChannel(asRecord(await retryAfterRateLimit(signal, () => api.channel(channel, signal))))
  }
  const response = await retryAfterRateLimit(signal, () => api.newestMessages(channel, maxMessagesPerChannel, signal))
  const list = Array.isArray(response) ? response.filter(isRecord) : []
  const since = list.filter((message) => {
    const id = idAt(message, 'id')
    return id !== undefined && isNewer(id, after)
  })
  const known = guildCache.channel(channel)
  const guild = known?.guildId
  const messages = since.toReversed().map((message) => ({
    ...message,
    ...(guild === undefined ? {} : { guild_id: guild }),
    ...(known === undefined ? {} : { channel_type: known.type }),
  }))
  return deps.needsRoles && guild !== undefined ? await withMembers(deps, messages, guild) : messages
}

async function withMembers(
  deps: FetchDeps,
  messages: readonly JsonRecord[],
  guild: string,
): Promise<readonly JsonRecord[]> {
  const members = new Map<string, JsonRecord | undefined>()
  for (const message of messages) {
    const author = recordAt(message, 'author')
    const id = idAt(author, 'id')
    if (id === undefined || author?.['bot'] === true || members.has(id)) continue
    members.set(id, await fetchMember(deps, guild, id))
  }
  return messages.map((message) => {
    const member = members.get(idAt(recordAt(message, 'author'), 'id') ?? '')
    return member === undefined ? message : { ...message, member }
  })
}

async function fetchMember({ api, signal }: FetchDeps, guild: string, user: string): Promise<JsonRecord | undefined> {
  try {
    return asRecord(await retryAfterRateLimit(signal, () => api.member(guild, user, signal)))
  } catch (error) {
    if (isRejected(error)) return undefined
    throw error
  }
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
