/**
 * Compares the messages of users with the contents of the chats and counts broken promises. Pure functions.
 */
import { quantile } from '../../bench/kit/stats.ts'
import type { SentMessage } from '../../crash/chat-server.ts'
import { answeredToken, countDeliveries, type DeliveryCounts, keepsPromises, tokenOf } from '../delivery-counts.ts'
import type { TrackedMessage } from './message-log.ts'
import { wrongRows } from './rows.ts'

/** The time of a fault, or the time without faults just before it, in ms of the clock of `TrackedMessage.at`. */
export interface Episode {
  readonly platform: string
  /** Undefined for a time without faults. */
  readonly fault: string | undefined
  readonly from: number
  readonly to: number
  readonly measures: 'reconnect' | 'noticed' | 'nothing'
  readonly kills: boolean
  /** From the end of the fault to the answer to a message that was written then; absent when none came in time. */
  readonly firstAnswerMs?: number
  /**
   * From the end of the fault to the last answer to the messages before it, without postponed ones; absent when it did not
   * come in time.
   */
  readonly caughtUpMs?: number
  /** Messages before it whose chat waits, because kills interrupted one of its messages several times. */
  readonly postponed?: number
}

export interface EpisodeCounts extends Episode {
  readonly messageCount: number
  readonly lost: number
  readonly unlabelled: number
  readonly labelled: number
  /** p95 of the answers on the other platforms, ms. NaN without answers. */
  readonly othersP95: number
}

/** The calls that the platform received after its rate limits. */
export interface Rates {
  readonly platform: string
  readonly earlyCalls: number
  /** During random faults, when the daemon that received the limit may have been killed in the meantime. */
  readonly earlyAfterKills: number
  /** For each end of a limit the delay until the next call, ms. */
  readonly lateMs: readonly number[]
}

export interface PlatformCounts extends DeliveryCounts, Rates {
  /** Rows of long answers that are missing or repeated. */
  readonly wrongRows: readonly string[]
  /** Whether an unfinished draft breaks a promise. */
  readonly findsDrafts: boolean
  /** p95 over the faults that interrupt the connection, ms. */
  readonly reconnectP95: number
  readonly reconnects: number
  /** p95 of the answers on the other platforms, without faults and during the faults of this platform. */
  readonly othersQuiet: number
  readonly othersDuring: number
  readonly kept: boolean
}

export interface PlatformsResult {
  readonly episodes: readonly EpisodeCounts[]
  readonly platforms: readonly PlatformCounts[]
  readonly outboxDeadLetters: readonly string[]
  readonly seconds: number
  readonly kept: boolean
}

export interface Evidence {
  readonly messages: readonly TrackedMessage[]
  /** By platform: every message of the bot, in the order of its chat. */
  readonly sentMessages: ReadonlyMap<string, readonly SentMessage[]>
  /** By platform: the minimum length of its long answers. */
  readonly longChars: ReadonlyMap<string, number>
  /** The platforms on which no draft may stay unfinished, because a lost one can be found. */
  readonly findsDrafts: ReadonlySet<string>
  readonly episodes: readonly Episode[]
  readonly rates: readonly Rates[]
  readonly outboxDeadLetters: readonly string[]
  /** The texts of the inbox dead letters after three crashes. */
  readonly inboxDeadLetters: readonly string[]
  readonly seconds: number
}

export const bars = { reconnectMs: 10_000, othersMs: 50, lateMs: 100 } as const

export function evaluate(evidence: Evidence): PlatformsResult {
  const { outboxDeadLetters: deadLetters, seconds } = evidence
  const platforms = evidence.rates.map((rates) => platformCountsOf(rates, evidence))
  const episodes = evidence.episodes.map((episode) => episodeCountsOf(episode, evidence))
  const kept = platforms.every((one) => one.kept) && deadLetters.length === 0
  return { episodes, platforms, outboxDeadLetters: deadLetters, seconds, kept }
}

function platformCountsOf(rates: Rates, evidence: Evidence): PlatformCounts {
  const { platform } = rates
  const asked = evidence.messages.filter((one) => one.platform === platform)
  const shown = evidence.sentMessages.get(platform) ?? []
  const texts = new Set(asked.map((one) => `${one.kind} ${tokenOf(one)}`))
  const setAside = evidence.inboxDeadLetters.filter((text) => texts.has(text))
  const tally = countDeliveries(asked, shown, setAside, [])
  const wrong = wrongRows(asked, shown, evidence.longChars.get(platform) ?? 0)
  const own = evidence.episodes.filter((one) => one.platform === platform)
  const faultEpisodes = own.filter(({ fault: scenario }) => scenario !== undefined)
  const reconnectTimes = faultEpisodes
    .filter(({ measures }) => measures === 'reconnect')
    .map(({ firstAnswerMs = Number.POSITIVE_INFINITY }) => firstAnswerMs)
  const reconnectP95 = quantile(reconnectTimes, 0.95)
  const others = evidence.messages.filter((one) => one.platform !== platform)
  const othersQuiet = p95In(
    others,
    own.filter(({ fault: scenario }) => scenario === undefined),
  )
  const othersDuring = p95In(
    others,
    faultEpisodes.filter(({ kills }) => !kills),
  )
  const { earlyCalls, lateMs } = rates
  const findsDrafts = evidence.findsDrafts.has(platform)
  const kept =
    keepsPromises(tally) &&
    wrong.length === 0 &&
    (tally.unfinishedDrafts === 0 || !findsDrafts) &&
    earlyCalls === 0 &&
    !lateMs.some((late) => late > bars.lateMs) &&
    !(reconnectP95 > bars.reconnectMs) &&
    !(othersDuring - othersQuiet > bars.othersMs)
  const measured = { reconnectP95, reconnects: reconnectTimes.length, othersQuiet, othersDuring }
  return { ...tally, ...rates, findsDrafts, wrongRows: wrong, ...measured, kept }
}

function episodeCountsOf(
  episode: Episode,
  { messages: asked, sentMessages: shown, inboxDeadLetters: setAside }: Evidence,
): EpisodeCounts {
  const { platform } = episode
  const during = asked.filter((one) => isIn(one, episode))
  const own = during.filter((one) => one.platform === platform)
  const tokens = new Set(own.map(tokenOf))
  const answers = (shown.get(platform) ?? []).filter(({ text }) => tokens.has(answeredToken(text) ?? ''))
  const { unanswered, unlabelled, labelled } = countDeliveries(own, answers, setAside, [])
  return {
    ...episode,
    messageCount: own.length,
    lost: unanswered.length,
    unlabelled: unlabelled.length,
    labelled,
    othersP95: episode.kills
      ? Number.NaN
      : p95In(
          during.filter((one) => one.platform !== platform),
          [episode],
        ),
  }
}

/** Counts plain messages in chats without another pending message. */
function p95In(asked: readonly TrackedMessage[], episodes: readonly Episode[]): number {
  const took = asked.flatMap((one) => {
    const counts = one.kind === 'plain' && one.alone && episodes.some((episode) => isIn(one, episode))
    return counts ? [one.tookMs ?? Number.POSITIVE_INFINITY] : []
  })
  return quantile(took, 0.95)
}

function isIn({ at }: TrackedMessage, { from, to }: Episode): boolean {
  return at >= from && at < to
}
