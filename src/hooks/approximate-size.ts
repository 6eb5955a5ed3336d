/**
 * Roughly how much memory an event holds while it waits: a line is bounded by that, too, because a thousand long answers
 * are a hundred megabytes.
 */

/** Values that are looked at in one event; it may be deep, wide or a circle. */
const maxVisitedValues = 2_000
/** Of a value beside its text. */
const bytesPerValue = 16

/** Bytes, or nearly so. Never throws. */
export function approximateSizeBytes(context: unknown): number {
  const open = [context]
  let bytes = 0
  for (let visited = 0; visited < maxVisitedValues; visited++) {
    if (open.length === 0) break
    const value = open.pop()
    bytes += bytesPerValue
    if (typeof value === 'string') bytes += value.length
    else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) open.push(part)
  }
  return bytes
}
