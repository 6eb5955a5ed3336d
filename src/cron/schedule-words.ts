/**
 * Schedules in words: `weekdays at 9am`, `every monday 9:30`, `monday, wednesday at noon` (contract hermes.md §4.8).
 */
const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

/** The cron expression of lower-case words with single blanks; undefined when they are no schedule. */
export function wordsToCron(words: string): string | undefined {
  const { dayWords, timeWords } = splitWords(words)
  // Without a time of day only named days are a schedule.
  if (timeWords === undefined && /^(?:every|every day|days?)?$/.test(dayWords)) return undefined
  const time = timeWords === undefined ? { hour: 0, minute: 0 } : parseClock(timeWords)
  const weekdays = parseDays(dayWords)
  if (time === undefined || weekdays === undefined) return undefined
  return `${time.minute} ${time.hour} * * ${weekdays}`
}

/** The last word that is a time of day, and what stands before it. */
function splitWords(words: string): { readonly dayWords: string; readonly timeWords: string | undefined } {
  const match =
    /^(?<dayWords>.*?)(?:^| )(?:at )?(?<timeWords>noon|midnight|\d{1,2}(?::\d{2})? ?(?:[ap]\.?m\.?)?)$/.exec(words)
  if (match?.groups === undefined) return { dayWords: words, timeWords: undefined }
  return { dayWords: (match.groups['dayWords'] ?? '').replace(/,$/, ''), timeWords: match.groups['timeWords'] }
}

function parseClock(words: string): { readonly hour: number; readonly minute: number } | undefined {
  if (words === 'noon') return { hour: 12, minute: 0 }
  if (words === 'midnight') return { hour: 0, minute: 0 }
  const [, hours = '', minutes = '0', half] = /^(\d{1,2})(?::(\d{2}))? ?([ap])?/.exec(words) ?? []
  const hour = Number(hours)
  const minute = Number(minutes)
  if (minute > 59 || (half === undefined ? hour > 23 : hour < 1 || hour > 12)) return undefined
  if (half === undefined) return { hour, minute }
  return { hour: (hour % 12) + (half === 'p' ? 12 : 0), minute }
}

/** The field of the days of the week. `every 9am` and `9am` alone name no day, so they mean each one. */
function parseDays(words: string): string | undefined {
  const names = words.replace(/^every ?/, '').replace(/ (?:and|&) /g, ', ')
  if (['', 'day', 'daily', 'days'].includes(names)) return '*'
  if (/^weekdays?$/.test(names)) return '1-5'
  if (/^weekends?$/.test(names)) return '0,6'
  const numbers = names.split(/,? |,/).map(dayNumber)
  return numbers.includes(-1) ? undefined : [...new Set(numbers)].sort((a, b) => a - b).join(',')
}

/** -1 for another word. Three letters are enough, and a plural is understood. */
function dayNumber(word: string): number {
  return word.length < 3 ? -1 : days.findIndex((day) => day.startsWith(word) || `${day}s` === word)
}
