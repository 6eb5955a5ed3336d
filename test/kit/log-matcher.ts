/**
 * Finds log lines by their `event` and other fields, so that tests do not depend on messages.
 */

/** The fields that a line must have. Regular expressions are matched against strings. */
export type LogFieldsMatcher = Readonly<{ event: string } & Record<string, unknown>>

/** A part of the line, a regular expression, or fields. */
export type LogMatcher = string | RegExp | LogFieldsMatcher

/** @param line one JSON line */
export function matchesLogLine(line: string, matcher: LogMatcher): boolean {
  if (typeof matcher === 'string') return line.includes(matcher)
  if (matcher instanceof RegExp) return matcher.test(line)
  // Parsing is slow; the name of the event excludes most lines.
  if (!line.includes(matcher.event)) return false
  const fields = fieldsOf(line)
  return Object.entries(matcher).every(([key, expected]) => matchesValue(fields.get(key), expected))
}

/** The fields of a JSON line; empty for other text. */
function fieldsOf(line: string): ReadonlyMap<string, unknown> {
  try {
    const fields: unknown = JSON.parse(line)
    return new Map(typeof fields === 'object' && fields !== null ? Object.entries(fields) : [])
  } catch {
    return new Map()
  }
}

function matchesValue(value: unknown, expected: unknown): boolean {
  return expected instanceof RegExp ? typeof value === 'string' && expected.test(value) : value === expected
}

/** For messages of failed tests. */
export function describeMatcher(matcher: LogMatcher): string {
  if (typeof matcher === 'string' || matcher instanceof RegExp) return String(matcher)
  return Object.entries(matcher)
    .map(([key, value]) => `${key}=${value instanceof RegExp ? String(value) : JSON.stringify(value)}`)
    .join(' ')
}
