/**
 * Counts responses and escalations per day (UTC). The counts are persistent.
 */
import { asNumber, asRecord, type Coalescer, createCoalescer, type Fields, type PluginState } from '#sdk'

export interface DailyCounts {
  /** Responses of small models. */
  readonly answers: number
  /** Responses that were requested again from the large model. */
  readonly escalated: number
  /** Escalations without a response of the large model; the first response was used. */
  readonly failed: number
  /** Uncertain responses that were not escalated because of `max_share_per_day`. */
  readonly held: number
}

const stateKey = 'days'
const maxDaysKept = 31
const noCounts: DailyCounts = { answers: 0, escalated: 0, failed: 0, held: 0 }

/** @param onSaveError called when the counts cannot be stored; they stay in memory */
export async function createCounters(
  state: Pick<PluginState, 'get' | 'set'>,
  now: () => number,
  onSaveError: (error: unknown) => void,
) {
  const days = new Map(
    Object.entries(asRecord(await state.get(stateKey))).map(([date, day]) => [date, parseDailyCounts(asRecord(day))]),
  )
  const saving: Coalescer = createCoalescer(() => state.set(stateKey, Object.fromEntries(days)), onSaveError)
  const date = () => new Date(now()).toISOString().slice(0, 10)
  const today = () => days.get(date()) ?? noCounts
  const newestFirst = () => [...days].sort(([a], [b]) => (a < b ? 1 : -1))

  return {
    /** Adds to today's counts. */
    add({ answers = 0, escalated = 0, failed = 0, held = 0 }) {
      const day = today()
      days.set(date(), {
        answers: day.answers + answers,
        escalated: day.escalated + escalated,
        failed: day.failed + failed,
        held: day.held + held,
      })
      for (const [old] of newestFirst().slice(maxDaysKept)) days.delete(old)
      saving.schedule()
    },
    today,
    /** The newest first. */
    days: newestFirst,
    /** Resolves when the counts are on disk. */
    flush: saving.idle,
  }
}

function parseDailyCounts(day: Fields): DailyCounts {
  return {
    answers: asNumber(day['answers']),
    escalated: asNumber(day['escalated']),
    failed: asNumber(day['failed']),
    held: asNumber(day['held']),
  }
}
