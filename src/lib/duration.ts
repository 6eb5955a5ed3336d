/**
 * Durations for people.
 */

/** `2 d 3 h`, `5 min`, `12 s`: the two largest units. */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  const units: readonly [number, string][] = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
  ]
  for (const [index, [size, name]] of units.entries()) {
    if (seconds < size) continue
    const [smaller = 1, smallerName = 's'] = units[index + 1] ?? []
    const rest = Math.floor((seconds % size) / smaller)
    return rest === 0 || smallerName === 's'
      ? `${Math.floor(seconds / size)} ${name}`
      : `${Math.floor(seconds / size)} ${name} ${rest} ${smallerName}`
  }
  return `${seconds} s`
}

/** `87 ms`, `1.4 s`, `2 min`: for what may be short. */
export function formatElapsed(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : formatDuration(ms)
}
