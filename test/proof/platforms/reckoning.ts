/**
 * Compares the messages of users with the contents of the chats and counts broken promises. Pure functions.
 */
import { quantile } from '../../bench/kit/stats.ts'
import type { SentMessage } from '../../crash/chat-server.ts'
import { answeredToken, isKept, type Tally, tallyOf, tokenOf } from '../tally.ts'
import { wrongRows } from './rows.ts'
import type { Asked } from './talk.ts'

/** The time of a fault, or the time without faults just before it, in ms of the clock of `TrackedMessage.at`. */
export interface Episode {
  readonly platform: string
  /** Undefined for a time without faults. */
  readonly trouble: string | undefined
  readonly from: number
  readonly to: number
  readonly measures: 'reconnect' | 'noticed' | 'nothing'
  readonly kills: boolean
  /** From the end of the fault to the answer to a message that was written then; absent when none came in time. */
  readonly backMs?: number
  /** From the end of the fault to the last answer to the messages before it; absent when it did not come in time. */
  readonly caughtUpMs?: number
}

export interface EpisodeCounts extends Episode {
  readonly said: number
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

export interface PlatformCounts extends Tally, Rates {
  /** Rows of long answers that are missing or repeated. */
  readonly wrongRows: readonly string[]
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
  readonly deadLetters: readonly string[]
  readonly seconds: number
  readonly kept: boolean
}

export interface Evidence {
  readonly asked: readonly Asked[]
  /** By platform: every message of the bot, in the order of its chat. */
  readonly shown: ReadonlyMap<string, readonly SentMessage[]>
  /** By platform: the minimum length of its long answers. */
  readonly longChars: ReadonlyMap<string, number>
  readonly episodes: readonly Episode[]
  readonly rates: readonly Rates[]
  readonly deadLetters: readonly string[]
  /** The texts of the inbox dead letters after three crashes. */
  readonly setAside: readonly string[]
  readonly seconds: number
}

export const bars = { reconnectMs: 10_000, othersMs: 50, lateMs: 100 } as const

export function reckon(evidence: Evidence): PlatformsResult {
  const { deadLetters, seconds } = evidence
  const platforms = evidence.rates.map((rates) => countsOf(rates, evidence))
  const episodes = evidence.episodes.map((episode) => countsIn(episode, evidence))
  const kept = platforms.every((one) => one.kept) && deadLetters.length === 0
  return { episodes, platforms, deadLetters, seconds, kept }
}

function countsOf(rates: Rates, evidence: Evidence): PlatformCounts {
  const { platform } = rates
  const asked = evidence.asked.filter((one) => one.platform === platform)
  const shown = evidence.shown.get(platform) ?? []
  const texts = new Set(asked.map((one) => `${one.kind} ${tokenOf(one)}`))
  const setAside = evidence.setAside.filter((text) => texts.has(text))
  const tally = tallyOf(asked, shown, setAside, [])
  const wrong = wrongRows(asked, shown, evidence.longChars.get(platform) ?? 0)
  const own = evidence.episodes.filter((one) => one.platform === platform)
  const troubled = own.filter(({ trouble }) => trouble !== undefined)
  const backs = troubled
    .filter(({ measures }) => measures === 'reconnect')
    .map(({ backMs = Number.POSITIVE_INFINITY }) => backMs)
  const reconnectP95 = quantile(backs, 0.95)
  const others = evidence.asked.filter((one) => one.platform !== platform)
  const othersQuiet = p95In(
    others,
    own.filter(({ trouble }) => trouble === undefined),
  )
  const othersDuring = p95In(
    others,
    troubled.filter(({ kills }) => !kills),
  )
  const { earlyCalls, lateMs } = rates
  const kept =
    isKept(tally) &&
    wrong.length === 0 &&
    earlyCalls === 0 &&
    !lateMs.some((late) => late > bars.lateMs) &&
    !(reconnectP95 > bars.reconnectMs) &&
    !(othersDuring - othersQuiet > bars.othersMs)
  const measured = { reconnectP95, reconnects: backs.length, othersQuiet, othersDuring }
  return { ...tally, ...rates, wrongRows: wrong, ...measured, kept }
}

function countsIn(episode: Episode, { asked, shown, setAside }: Evidence): EpisodeCounts {
  const { platform } = episode
  const during = asked.filter((one) => isIn(one, episode))
  const own = during.filter((one) => one.platform === platform)
  const tokens = new Set(own.map(tokenOf))
  const answers = (shown.get(platform) ?? []).filter(({ text }) => tokens.has(answeredToken(text) ?? ''))
  const { unanswered, unlabelled, labelled } = tallyOf(own, answers, setAside, [])
  return {
    ...episode,
    said: own.length,
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
function p95In(asked: readonly Asked[], episodes: readonly Episode[]): number {
  const took = asked.flatMap((one) => {
    const counts = one.kind === 'plain' && one.alone && episodes.some((episode) => isIn(one, episode))
    return counts ? [one.tookMs ?? Number.POSITIVE_INFINITY] : []
  })
  return quantile(took, 0.95)
}

function isIn({ at }: Asked, { from, to }: Episode): boolean {
  return at >= from && at < to
}
