/**
 * Schedules in words: `weekdays at 9am`, `monthly on the 1st at 9am`, `tomorrow at noon` (contract hermes.md §4.8).
 */
export type WordsSchedule =
  | { readonly kind: 'cron'; readonly expr: string }
  /** `minutes`: from the last midnight on the clock. */
  | { readonly kind: 'once'; readonly minutes: number }
  /** The rest of a sentence that begins with the words. */
  | { readonly kind: 'problem'; readonly problem: string }

interface TimeOfDay {
  readonly hour: number
  readonly minute: number
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

/** Reads lower-case words with single blanks; undefined when they are no schedule. */
export function parseWords(words: string): WordsSchedule | undefined {
  if (words === 'hourly') return { kind: 'cron', expr: '0 * * * *' }
  const { dayWords, clockWords } = splitWords(words)
  const { days, part } = splitPart(dayWords)
  const time = clockWords === undefined ? undefined : parseClock(clockWords, part)
  if (clockWords !== undefined && time === undefined) return undefined
  const ahead = ['today', 'tomorrow'].indexOf(days)
  if (ahead !== -1 && time === undefined) return noTime
  if (ahead !== -1 && time !== undefined) return { kind: 'once', minutes: (ahead * 24 + time.hour) * 60 + time.minute }
  if (time !== undefined && /^every (?:other|\d+) /.test(days)) return noTimes
  const fields = dateFields(days)
  if (fields === undefined) return undefined
  // Without a time of day only named days are a schedule.
  if (time === undefined && part !== undefined) return noTime
  if (time === undefined && /^(?:every|every day|days?)?$/.test(days)) return undefined
  return { kind: 'cron', expr: `${time?.minute ?? 0} ${time?.hour ?? 0} ${fields}` }
}

const noTime: WordsSchedule = { kind: 'problem', problem: 'names no time of day. Add one: "at 9am".' }
const noTimes: WordsSchedule = {
  kind: 'problem',
  problem: 'is an interval with a time of day. Leave the time out, or name days: "monday, thursday at 9am".',
}

/** The time of day behind or before the days. */
function splitWords(words: string): { readonly dayWords: string; readonly clockWords: string | undefined } {
  const clock = String.raw`noon|midnight|\d{1,2}(?::\d{2})? ?(?:[ap]\.?m\.?)?`
  const { days = '', time } =
    new RegExp(`^(?<days>.*?),?(?:^| )(?:at )?(?<time>${clock})$`).exec(words)?.groups ??
    new RegExp(`^at (?<time>${clock}),? (?<days>.+)$`).exec(words)?.groups ??
    {}
  return time === undefined ? { dayWords: words, clockWords: undefined } : { dayWords: days, clockWords: time }
}

type PartOfDay = 'morning' | 'afternoon' | 'evening' | 'night'

/** `every night` are days and a part of the day, which says what `11` means. */
function splitPart(words: string): { readonly days: string; readonly part: PartOfDay | undefined } {
  const plain = words.replace(/^tonight$/, 'today night').replace(/^nightly$/, 'every night')
  const { days, part } = /^(?<days>|.* )(?<part>morning|afternoon|evening|night)s?$/.exec(plain)?.groups ?? {}
  return { days: (days ?? plain).trim(), part: isPart(part) ? part : undefined }
}

function isPart(word: string | undefined): word is PartOfDay {
  return word === 'morning' || word === 'afternoon' || word === 'evening' || word === 'night'
}

/** The first hour of a part of the day that is written as on a clock with twelve hours and lies behind noon. */
const firstLateHour: Readonly<Record<PartOfDay, number>> = { morning: 13, afternoon: 1, evening: 1, night: 6 }

function parseClock(words: string, part: PartOfDay | undefined): TimeOfDay | undefined {
  if (words === 'noon') return { hour: 12, minute: 0 }
  if (words === 'midnight') return { hour: 0, minute: 0 }
  const [, hours = '', minutes = '0', half] = /^(\d{1,2})(?::(\d{2}))? ?([ap])?/.exec(words) ?? []
  const hour = Number(hours)
  const minute = Number(minutes)
  if (minute > 59 || (half === undefined ? hour > 23 : hour < 1 || hour > 12)) return undefined
  if (half !== undefined) return { hour: (hour % 12) + (half === 'p' ? 12 : 0), minute }
  const isLate = part !== undefined && hour >= firstLateHour[part] && hour < 12
  return { hour: isLate ? hour + 12 : hour, minute }
}

/** The fields of the day of the month, the month and the day of the week. */
function dateFields(words: string): string | undefined {
  const names = words.replace(/^(?:every|each) ?/, '').replace(/ (?:and|&) /g, ', ')
  const { dates } =
    /^(?:monthly|month)(?: on)?(?: the)? (?<dates>.+)$/.exec(names)?.groups ??
    /^(?:on )?(?:the )?(?<dates>.+) of (?:the|every|each) month$/.exec(names)?.groups ??
    {}
  if (dates !== undefined) {
    const days = parseDates(dates)
    return days === undefined ? undefined : `${days} * *`
  }
  if (/^(?:monthly|month)$/.test(names)) return '1 * *'
  if (/^(?:yearly|annually|year)$/.test(names)) return '1 1 *'
  const days = parseDays(names.replace(/^(?:(?:weekly|week) )?on /, ''))
  return days === undefined ? undefined : `* * ${days}`
}

/** `1st, 15th` or `last day`, as a field of a cron expression. */
function parseDates(words: string): string | undefined {
  if (words === 'last day') return 'L'
  const dates = words.split(/,? (?:the )?|,/).map((word) => /^(\d{1,2})(?:st|nd|rd|th)?$/.exec(word)?.[1])
  return dates.includes(undefined) ? undefined : toField(dates.map(Number))
}

/** The field of the days of the week. No day means each one. */
function parseDays(names: string): string | undefined {
  if (['', 'day', 'daily', 'days'].includes(names)) return '*'
  if (names === 'weekly') return '0'
  if (/^weekdays?$/.test(names)) return '1-5'
  if (/^weekends?$/.test(names)) return '0,6'
  const numbers = names.split(/,? |,/).map(dayNumber)
  return numbers.includes(-1) ? undefined : toField(numbers)
}

function toField(numbers: readonly number[]): string {
  return [...new Set(numbers)].sort((a, b) => a - b).join(',')
}

/** -1 for another word. Three letters are enough, and a plural is understood. */
function dayNumber(word: string): number {
  return word.length < 3 ? -1 : weekdays.findIndex((day) => day.startsWith(word) || `${day}s` === word)
}
