/**
 * The clock on the wall of a time zone. It shows times as milliseconds since 1970 as if the zone were UTC.
 */
export const dayMs = 86_400_000

export class WallClock {
  readonly #format: Intl.DateTimeFormat

  /** @param timeZone an IANA name. Throws a RangeError for another one. */
  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  }

  shownAt(at: number): number {
    return at + this.#offsetAt(at)
  }

  /** The latest time that it has shown up to an instant: after it was set back, a later one than it shows. */
  latestShown(at: number): number {
    const shown = this.shownAt(at)
    const dayBefore = this.#offsetAt(at - dayMs)
    if (at + dayBefore <= shown) return shown
    const change = firstInstant(at - dayMs, at, (instant) => this.#offsetAt(instant) !== dayBefore)
    return Math.max(shown, change + dayBefore - 1)
  }

  /** The first instant at which it shows a time or, where that is skipped, a later one. */
  firstShowing(time: number): number {
    const { before, after, found: exact } = this.#instants(time)
    return exact ?? firstInstant(after, before, (instant) => this.shownAt(instant) >= time)
  }

  /** The instant that a person means by a time: the first of two, and a time that is skipped is moved by as much as is skipped. */
  instantOf(time: number): number {
    const { before, found: instant } = this.#instants(time)
    return instant ?? before
  }

  /** `before` and `after`: by the offsets of the days around a time. `found`: the first instant that shows it. */
  #instants(time: number): { readonly before: number; readonly after: number; readonly found: number | undefined } {
    const before = time - this.#offsetAt(time - dayMs)
    const after = time - this.#offsetAt(time + dayMs)
    const matches = [before, after].filter((at) => this.shownAt(at) === time)
    return { before, after, found: matches.length === 0 ? undefined : Math.min(...matches) }
  }

  /** How far it is ahead of UTC, ms. */
  #offsetAt(at: number): number {
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /GMT([+-])(\d+):(\d+)(?::(\d+))?$/.exec(this.#format.format(at)) ?? []
    const size = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000
    return sign === '-' ? -size : size
  }
}

/** The first instant after `from`, up to `to`, from which on something holds. It holds at `to`. */
function firstInstant(from: number, to: number, holds: (at: number) => boolean): number {
  let low = from
  let high = to
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}
