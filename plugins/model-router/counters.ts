/**
 * How many answers there were, and how many were asked for once more: by day (UTC), kept over restarts.
 */
import { asNumber, asRecord, type Coalescer, createCoalescer, type Fields, type PluginState } from '#sdk'

export interface DailyCounts {
  /** Of small models. */
  readonly answers: number
  /** Asked for once more. */
  readonly escalated: number
  /** Of these: the large model gave no answer, and the first one stayed. */
  readonly failed: number
  /** Sounded unsure, but the share of the day was used up. */
  readonly held: number
}

export interface Counters {
  /** Adds to today's counts. */
  add(changes: Partial<DailyCounts>): void
  today(): DailyCounts
  /** The latest first. */
  days(): readonly (readonly [date: string, day: DailyCounts])[]
  /** Resolves when the counts are on disk. */
  flush(): Promise<void>
}

const stateKey = 'days'
const maxDaysKept = 31
const noCounts: DailyCounts = { answers: 0, escalated: 0, failed: 0, held: 0 }

/** @param onSaveError told when the counts could not be kept; they go on in memory */
export async function createCounters(
  state: Pick<PluginState, 'get' | 'set'>,
  now: () => number,
  onSaveError: (error: unknown) => void,
): Promise<Counters> {
  const days = new Map(
    Object.entries(asRecord(await state.get(stateKey))).map(([date, day]) => [date, parseDailyCounts(asRecord(day))]),
  )
  const saving: Coalescer = createCoalescer(() => state.set(stateKey, Object.fromEntries(days)), onSaveError)
  const date = () => new Date(now()).toISOString().slice(0, 10)
  const today = () => days.get(date()) ?? noCounts
  const newestFirst = () => [...days].sort(([one], [other]) => (one < other ? 1 : -1))

  return {
    add({ answers = 0, escalated = 0, failed: lost = 0, held = 0 }) {
      const day = today()
      days.set(date(), {
        answers: day.answers + answers,
        escalated: day.escalated + escalated,
        failed: day.failed + lost,
        held: day.held + held,
      })
      for (const [old] of newestFirst().slice(maxDaysKept)) days.delete(old)
      saving.schedule()
    },
    today,
    days: newestFirst,
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
