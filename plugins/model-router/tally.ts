/**
 * How many answers there were, and how many were asked for once more: by day (UTC), kept over restarts.
 */
import { createLatest, type Fields, type Latest, num, type PluginState, record } from '#sdk'

export interface Day {
  /** Of small models. */
  readonly answers: number
  /** Asked for once more. */
  readonly escalated: number
  /** Of these: the large model gave no answer, and the first one stayed. */
  readonly failed: number
  /** Sounded unsure, but the share of the day was used up. */
  readonly held: number
}

export interface Tally {
  /** Adds to today's counts. */
  count(changes: Partial<Day>): void
  today(): Day
  /** The latest first. */
  days(): readonly (readonly [date: string, day: Day])[]
  /** Resolves when the counts are on disk. */
  settled(): Promise<void>
}

const key = 'days'
const keptDays = 31
const nothing: Day = { answers: 0, escalated: 0, failed: 0, held: 0 }

/** @param failed told when the counts could not be kept; they go on in memory */
export async function createTally(
  state: Pick<PluginState, 'get' | 'set'>,
  now: () => number,
  failed: (error: unknown) => void,
): Promise<Tally> {
  const days = new Map(Object.entries(record(await state.get(key))).map(([date, day]) => [date, dayOf(record(day))]))
  const saving: Latest = createLatest(() => state.set(key, Object.fromEntries(days)), failed)
  const date = () => new Date(now()).toISOString().slice(0, 10)
  const today = () => days.get(date()) ?? nothing
  const newestFirst = () => [...days].sort(([one], [other]) => (one < other ? 1 : -1))

  return {
    count({ answers = 0, escalated = 0, failed: lost = 0, held = 0 }) {
      const day = today()
      days.set(date(), {
        answers: day.answers + answers,
        escalated: day.escalated + escalated,
        failed: day.failed + lost,
        held: day.held + held,
      })
      for (const [old] of newestFirst().slice(keptDays)) days.delete(old)
      saving.changed()
    },
    today,
    days: newestFirst,
    settled: saving.settled,
  }
}

function dayOf(day: Fields): Day {
  return {
    answers: num(day['answers']),
    escalated: num(day['escalated']),
    failed: num(day['failed']),
    held: num(day['held']),
  }
}
