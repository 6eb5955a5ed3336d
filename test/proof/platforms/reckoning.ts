/**
 * Holds what was written on the stages against what stands there. Pure: the promises, as counts.
 */
import { quantile } from '../../bench/kit/stats.ts'
import type { SentMessage } from '../../crash/chat-server.ts'
import { answeredToken, isKept, type Tally, tallyOf, tokenOf } from '../tally.ts'
import { wrongRows } from './rows.ts'
import type { Asked } from './talk.ts'

/** A time in which a platform suffered, or the quiet just before it. ms of the clock of `Asked.at`. */
export interface Episode {
  readonly platform: string
  /** Undefined when it was quiet. */
  readonly trouble: string | undefined
  readonly from: number
  readonly to: number
  readonly measures: 'reconnect' | 'noticed' | 'nothing'
  readonly kills: boolean
  /** From the end of the trouble to an answer to somebody who asked then; absent when none came in time. */
  readonly backMs?: number
  /** From the end to the answer to the last of those who had asked before; absent as above. */
  readonly caughtUpMs?: number
}

export interface EpisodeCounts extends Episode {
  readonly said: number
  readonly lost: number
  readonly unlabelled: number
  readonly labelled: number
  /** 95 of 100 answers on the other platforms took at most so long, ms. NaN where nothing can be said. */
  readonly othersP95: number
}

/** What the platform saw of its limits. */
export interface Rates {
  readonly platform: string
  readonly earlyCalls: number
  /** In the time of random troubles, in which the daemon that was told to wait may be killed meanwhile. */
  readonly earlyAfterKills: number
  /** For each end of a limit: how long after it the next call came, ms. */
  readonly lateMs: readonly number[]
}

export interface PlatformCounts extends Tally, Rates {
  /** Rows of long answers that are missing or stand there twice. */
  readonly wrongRows: readonly string[]
  /** p95 over the troubles that cut the platform off, ms. */
  readonly reconnectP95: number
  readonly reconnects: number
  /** What its troubles did to the others: p95 of their answers without any trouble, and during its own. */
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
  /** By platform: what its long answers have at least. */
  readonly longChars: ReadonlyMap<string, number>
  readonly episodes: readonly Episode[]
  readonly rates: readonly Rates[]
  readonly deadLetters: readonly string[]
  /** The texts of messages that were given up after three crashes. */
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

/** Of short answers that nobody else of the chat waited for. */
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
