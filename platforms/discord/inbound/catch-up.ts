/**
 * What was written while no session listened: the newest messages of each chat since the last one that was seen, handed in
 * before what comes in now. Bounded in chats, messages and age.
 */
import { type Logger, messageOf, sleep, withTimeout } from '#sdk'
import type { Api } from '../connection/api.ts'
import { retryAfterRateLimit } from '../connection/retry-after.ts'
import { describeError, isRejected } from '../errors.ts'
import type { ChannelQueue } from './channel-queue.ts'
import type { GuildCache } from './guild-cache.ts'
import { asRecord, idAt, isRecord, type JsonRecord, recordAt } from './payload.ts'
import { isNewer, newest, snowflakeToTime, timeToSnowflake } from './snowflake.ts'

export interface CatchUpDeps {
  readonly api: Pick<Api, 'newestMessages' | 'channel' | 'member'>
  readonly guildCache: GuildCache
  readonly queue: ChannelQueue
  /** By channel: the last message that was handed in, in this life or an earlier one. */
  marks(): Promise<ReadonlyMap<string, string>>
  /** Hands in a message as if the gateway had sent it. False: there was nothing new in it. */
  ingest(message: JsonRecord): Promise<boolean>
  /** Whether somebody's roles decide who may come in: a fetched message does not tell them. */
  readonly needsRoles: boolean
  readonly clock: () => number
  readonly signal: AbortSignal
  readonly log: Logger
}

export interface CatchUp {
  /** A session began, on these servers; events of before do not come any more. */
  begin(guilds: readonly string[]): void
  /** A server of them has told of itself, or is away. */
  guildReady(guild: string | undefined): void
  /** To be called before an event is queued: what was missed in its channel comes before it. */
  enqueueBefore(channel: string): void
  /** A message came in live. */
  seen(id: string): void
  /** Everything of one channel since its mark, again. */
  refetch(channel: string): void
}

const maxChannels = 100
const maxMessagesPerChannel = 50
const maxAgeMs = 24 * 3_600_000
const maxConcurrentFetches = 4
/** Servers tell of themselves within moments of READY; one that does not is left out. */
const guildTimeoutMs = 3_000
/** Messages may overtake each other by so much, across channels and within one; known ones are known by their names. */
const skewMs = 60_000
const channelSkewMs = 5_000

/** After which message each channel is read on. */
type CatchUpPlan = ReadonlyMap<string, string>

export function createCatchUp(deps: CatchUpDeps): CatchUp {
  const { api, guildCache, queue: intake, signal, log } = deps
  const slots = createSemaphore(maxConcurrentFetches)
  let lastSeen: string | undefined
  let awaited = new Set<string>()
  let allArrived = Promise.withResolvers<void>()
  /** Channels whose turn in this round is queued already. */
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
      intake.push(channel, async () => fetchSince(channel, (await deps.marks()).get(channel)))
    },
  }

  function queue(channel: string): void {
    if (queued.has(channel)) return
    queued.add(channel)
    const round = plan
    intake.push(channel, async () => fetchSince(channel, (await round).get(channel)))
  }

  /** Never rejects: where the marks cannot be read now, they can later. */
  async function makePlan(since: string | undefined): Promise<CatchUpPlan> {
    await withTimeout(allArrived.promise, guildTimeoutMs, signal)
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return planFor(await deps.marks(), since)
      } catch (error) {
        log.warn({ attempt, reason: messageOf(error) }, 'how far Discord was read is not known yet, trying again')
        await sleep(Math.min(10_000, 200 * 2 ** attempt), signal)
      }
    }
    return new Map()
  }

  function planFor(marks: ReadonlyMap<string, string>, since: string | undefined): CatchUpPlan {
    const horizon = timeToSnowflake(deps.clock() - maxAgeMs)
    const live = since === undefined ? undefined : timeToSnowflake(snowflakeToTime(since) - skewMs)
    // Where nothing was ever handed in from a channel, at least everything before the last known moment was seen.
    const floor = live ?? newest(marks.values())
    if (floor === undefined) return new Map()
    const newestIn = guildCache.newestMessages()
    const found: { channel: string; after: string; last: string }[] = []
    const consider = (channel: string, mark: string) => {
      const after = newest([mark, horizon, ...(live === undefined ? [] : [live])]) ?? mark
      const last = newestIn.get(channel)
      if (last !== undefined && !isNewer(last, after)) return
      found.push({ channel, after: timeToSnowflake(snowflakeToTime(after) - channelSkewMs), last: last ?? mark })
    }
    for (const [channel, mark] of marks) consider(channel, mark)
    for (const channel of newestIn.keys()) if (!marks.has(channel)) consider(channel, floor)
    const first = found.sort((one, other) => (isNewer(one.last, other.last) ? -1 : 1)).slice(0, maxChannels)
    return new Map(first.map(({ channel, after }) => [channel, after]))
  }

  /** Rejects where it is worth another try. */
  async function fetchSince(channel: string, after: string | undefined): Promise<void> {
    if (after === undefined) return
    try {
      await handInAll(channel, await slots(() => missed(channel, after)))
    } catch (error) {
      if (!isRejected(error)) throw error
      // The channel is gone, or the bot no longer sees it: there is nothing to answer.
      log.debug({ channel, reason: describeError(error) }, 'what was missed in a channel cannot be fetched')
    }
  }

  /** What was fetched holds the bot's own messages and known ones, too: only those that were missed are told of. */
  async function handInAll(channel: string, messages: readonly JsonRecord[]): Promise<void> {
    let taken = 0
    try {
      for (const message of messages) if (await deps.ingest(message)) taken += 1
    } finally {
      if (taken > 0) log.info({ channel, messages: taken }, 'messages that were missed have been fetched')
    }
  }

  /** Oldest first. */
  async function missed(channel: string, after: string): Promise<readonly JsonRecord[]> {
    if (guildCache.channel(channel) === undefined) {
      guildCache.updateChannel(asRecord(await retryAfterRateLimit(signal, () => api.channel(channel, signal))))
    }
    const answer = await retryAfterRateLimit(signal, () => api.newestMessages(channel, maxMessagesPerChannel, signal))
    const list = Array.isArray(answer) ? answer.filter(isRecord) : []
    const since = list.filter((message) => {
      const id = idAt(message, 'id')
      return id !== undefined && isNewer(id, after)
    })
    const place = guildCache.channel(channel)
    const guild = place?.guildId
    const whole = since.toReversed().map((message) => ({
      ...message,
      ...(guild === undefined ? {} : { guild_id: guild }),
      ...(place === undefined ? {} : { channel_type: place.type }),
    }))
    return deps.needsRoles && guild !== undefined ? await withMembers(whole, guild) : whole
  }

  async function withMembers(messages: readonly JsonRecord[], guild: string): Promise<readonly JsonRecord[]> {
    const members = new Map<string, JsonRecord | undefined>()
    for (const message of messages) {
      const author = recordAt(message, 'author')
      const id = idAt(author, 'id')
      if (id === undefined || author?.['bot'] === true || members.has(id)) continue
      members.set(id, await memberOf(guild, id))
    }
    return messages.map((message) => {
      const member = members.get(idAt(recordAt(message, 'author'), 'id') ?? '')
      return member === undefined ? message : { ...message, member }
    })
  }

  async function memberOf(guild: string, user: string): Promise<JsonRecord | undefined> {
    try {
      return asRecord(await retryAfterRateLimit(signal, () => api.member(guild, user, signal)))
    } catch (error) {
      if (isRejected(error)) return undefined
      throw error
    }
  }
}

/** So many at once; the others wait. */
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
