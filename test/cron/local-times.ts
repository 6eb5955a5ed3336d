/**
 * The times of a schedule by the clocks on the wall, found by looking at each minute. It knows nothing of how the gateway computes them.
 */
export interface LocalMinute {
  /** ms since 1970. */
  readonly at: number
  /** The date in the zone, `2027-03-28`. */
  readonly date: string
  /** Since midnight on the clock. */
  readonly minutes: number
  /** 0 is Sunday. */
  readonly weekday: number
}

const minuteMs = 60_000
/** Zones change their clocks at such minutes only. */
const stepMs = 15 * minuteMs

/** Each minute after `from`, up to `to`. Both are full hours, ms since 1970. */
export function localMinutes(timeZone: string, from: number, to: number): readonly LocalMinute[] {
  const format = new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit' },
  })
  const found: LocalMinute[] = []
  for (let step = from; step < to; step += stepMs) {
    const shown = format.format(step)
    const [date = '', clock = ''] = shown.split(', ')
    const local = Date.parse(`${date}T${clock}Z`)
    for (let at = step; at < step + stepMs; at += minuteMs) {
      const time = new Date(local + at - step)
      const minutes = time.getUTCHours() * 60 + time.getUTCMinutes()
      found.push({ at, date: time.toISOString().slice(0, 10), minutes, weekday: time.getUTCDay() })
    }
  }
  return found
}

/**
 * One time on each day that is wanted: the first minute that shows it, or where clocks skip it the first minute after that.
 * @param minutes since midnight
 */
export function dailyTimes(
  all: readonly LocalMinute[],
  minutes: number,
  isWanted: (weekday: number) => boolean,
): readonly number[] {
  const byDate = Map.groupBy(all, ({ date }) => date)
  return [...byDate.values()].flatMap((day) => {
    const found = day.find((one) => one.minutes === minutes) ?? day.find((one) => one.minutes > minutes)
    // The first day may begin behind its time, which is not a change of the clocks.
    const isCut = day[0] === all[0] && found === day[0]
    return found === undefined || isCut || !isWanted(found.weekday) ? [] : [found.at]
  })
}

/** Every minute whose number can be divided by `every`, also where clocks show an hour twice. */
export function repeatedTimes(all: readonly LocalMinute[], every: number): readonly number[] {
  return all.flatMap(({ at, minutes }) => ((minutes % 60) % every === 0 ? [at] : []))
}
