/**
 * What was written while no session listened: the newest messages of each chat since the last one that was seen, handed in
 * before what comes in now. Bounded in chats, messages and age.
 */
import { type Logger, messageOf, pause, within } from '#sdk'
import type { Api } from './api.ts'
import type { Directory } from './directory.ts'
import { explain, isRefusal } from './errors.ts'
import type { Intake } from './intake.ts'
import { patiently } from './patience.ts'
import { idAtTime, isNewer, newest, timeOf } from './snowflake.ts'
import { asObject, idAt, isObject, type Json, objectAt } from './wire.ts'

export interface CatchUpDeps {
  readonly api: Pick<Api, 'newestMessages' | 'channel' | 'member'>
  readonly directory: Directory
  readonly intake: Intake
  /** By channel: the last message that was handed in, in this life or an earlier one. */
  marks(): Promise<ReadonlyMap<string, string>>
  /** Hands in a message as if the gateway had sent it. False: there was nothing new in it. */
  handIn(message: Json): Promise<boolean>
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
  arrived(guild: string | undefined): void
  /** To be called before an event is queued: what was missed in its channel comes before it. */
  ahead(channel: string): void
  /** A message came in live. */
  seen(id: string): void
  /** Everything of one channel since its mark, again. */
  again(channel: string): void
}

const chatLimit = 100
const perChat = 50
const oldestMs = 24 * 3_600_000
const atOnce = 4
/** Servers tell of themselves within moments of READY; one that does not is left out. */
const patienceMs = 3_000
/** Messages may overtake each other by so much, across channels and within one; known ones are known by their names. */
const skewMs = 60_000
const chatSkewMs = 5_000

/** After which message each channel is read on. */
type Plan = ReadonlyMap<string, string>

export function createCatchUp(deps: CatchUpDeps): CatchUp {
  const { api, directory, intake, signal, log } = deps
  const slots = createSlots(atOnce)
  let lastSeen: string | undefined
  let awaited = new Set<string>()
  let allArrived = Promise.withResolvers<void>()
  /** Channels whose turn in this round is queued already. */
  let queued = new Set<string>()
  let plan: Promise<Plan> = Promise.resolve(new Map())
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
    arrived(guild) {
      awaited.delete(guild ?? '')
      if (awaited.size === 0) allArrived.resolve()
    },
    ahead(channel) {
      if (isPlanning) queue(channel)
    },
    seen(id) {
      if (lastSeen === undefined || isNewer(id, lastSeen)) lastSeen = id
    },
    again(channel) {
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
  async function makePlan(since: string | undefined): Promise<Plan> {
    await within(allArrived.promise, patienceMs, signal)
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return planFor(await deps.marks(), since)
      } catch (error) {
        log.warn({ attempt, reason: messageOf(error) }, 'how far Discord was read is not known yet, trying again')
        await pause(Math.min(10_000, 200 * 2 ** attempt), signal)
      }
    }
    return new Map()
  }

  function planFor(marks: ReadonlyMap<string, string>, since: string | undefined): Plan {
    const horizon = idAtTime(deps.clock() - oldestMs)
    const live = since === undefined ? undefined : idAtTime(timeOf(since) - skewMs)
    // Where nothing was ever handed in from a channel, at least everything before the last known moment was seen.
    const floor = live ?? newest(marks.values())
    if (floor === undefined) return new Map()
    const newestIn = directory.newestMessages()
    const found: { channel: string; after: string; last: string }[] = []
    const consider = (channel: string, mark: string) => {
      const after = newest([mark, horizon, ...(live === undefined ? [] : [live])]) ?? mark
      const last = newestIn.get(channel)
      if (last !== undefined && !isNewer(last, after)) return
      found.push({ channel, after: idAtTime(timeOf(after) - chatSkewMs), last: last ?? mark })
    }
    for (const [channel, mark] of marks) consider(channel, mark)
    for (const channel of newestIn.keys()) if (!marks.has(channel)) consider(channel, floor)
    const first = found.sort((one, other) => (isNewer(one.last, other.last) ? -1 : 1)).slice(0, chatLimit)
    return new Map(first.map(({ channel, after }) => [channel, after]))
  }

  /** Rejects where it is worth another try. */
  async function fetchSince(channel: string, after: string | undefined): Promise<void> {
    if (after === undefined) return
    try {
      await handInAll(channel, await slots(() => missed(channel, after)))
    } catch (error) {
      if (!isRefusal(error)) throw error
      // The channel is gone, or the bot no longer sees it: there is nothing to answer.
      log.debug({ channel, reason: explain(error) }, 'what was missed in a channel cannot be fetched')
    }
  }

  /** What was fetched holds the bot's own messages and known ones, too: only those that were missed are told of. */
  async function handInAll(channel: string, messages: readonly Json[]): Promise<void> {
    let taken = 0
    try {
      for (const message of messages) if (await deps.handIn(message)) taken += 1
    } finally {
      if (taken > 0) log.info({ channel, messages: taken }, 'messages that were missed have been fetched')
    }
  }

  /** Oldest first. */
  async function missed(channel: string, after: string): Promise<readonly Json[]> {
    if (directory.channel(channel) === undefined) {
      directory.learnChannel(asObject(await patiently(signal, () => api.channel(channel, signal))))
    }
    const answer = await patiently(signal, () => api.newestMessages(channel, perChat, signal))
    const list = Array.isArray(answer) ? answer.filter(isObject) : []
    const since = list.filter((message) => {
      const id = idAt(message, 'id')
      return id !== undefined && isNewer(id, after)
    })
    const place = directory.channel(channel)
    const guild = place?.guildId
    const whole = since.toReversed().map((message) => ({
      ...message,
      ...(guild === undefined ? {} : { guild_id: guild }),
      ...(place === undefined ? {} : { channel_type: place.type }),
    }))
    return deps.needsRoles && guild !== undefined ? await withMembers(whole, guild) : whole
  }

  async function withMembers(messages: readonly Json[], guild: string): Promise<readonly Json[]> {
    const members = new Map<string, Json | undefined>()
    for (const message of messages) {
      const author = objectAt(message, 'author')
      const id = idAt(author, 'id')
      if (id === undefined || author?.['bot'] === true || members.has(id)) continue
      members.set(id, await memberOf(guild, id))
    }
    return messages.map((message) => {
      const member = members.get(idAt(objectAt(message, 'author'), 'id') ?? '')
      return member === undefined ? message : { ...message, member }
    })
  }

  async function memberOf(guild: string, user: string): Promise<Json | undefined> {
    try {
      return asObject(await patiently(signal, () => api.member(guild, user, signal)))
    } catch (error) {
      if (isRefusal(error)) return undefined
      throw error
    }
  }
}

/** So many at once; the others wait. */
function createSlots(count: number) {
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
