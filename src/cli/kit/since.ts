/**
 * Reads a time in the past, as options such as `--since` have it.
 */
import { HermesError } from '../../lib/errors.ts'

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** ms since 1970. Throws `cli/usage`. */
export function parseSince(text: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const at = count === undefined ? Date.parse(text) : now - Number(count) * (unitsMs[unit] ?? 0)
  if (!Number.isNaN(at)) return at
  throw new HermesError('cli/usage', `--since: expected 30m, 12h, 7d or a date, found ${JSON.stringify(text)}.`)
}
