/**
 * Formats times in the language of the browser.
 */
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
const withYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', year: 'numeric' })

/** @param {number} at */
export function clockTime(at) {
  return clock.format(at)
}

/** A word for the day, or its date. @param {number} at @param {number} now */
export function dayName(at, now) {
  const days = dayNumber(now) - dayNumber(at)
  if (days === 0) return 'Today'
  if (days === 1) return 'Yesterday'
  return (days > 0 && days < 300 ? weekday : withYear).format(at)
}

/** The same number for all moments of one day. @param {number} at */
export function dayNumber(at) {
  const date = new Date(at)
  return Math.round(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000)
}

/** How long something takes, shortly. @param {number} ms */
export function duration(ms) {
  const seconds = Math.floor(ms / 1_000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** A time that can be read at a glance. @param {string} time ISO 8601 */
export function sinceTime(time) {
  const at = Date.parse(time)
  const passed = Date.now() - at
  if (passed < 60_000) return passed < 5_000 ? 'just now' : `${duration(passed)} ago`
  if (passed < 3_600_000) return `${Math.floor(passed / 60_000)} min ago`
  return `${dayName(at, Date.now())}, ${clockTime(at)}`
}
