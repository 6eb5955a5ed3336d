/**
 * The plain side of `yaml.ts`: which values may come out, and where in the text each of them stands.
 */

/** Both count from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

export type PathPart = string | number

/** Where a value stands: offsets of its key and of itself, and the same for what is inside. */
export interface SourceOffsets {
  readonly key: number
  readonly value: number
  readonly children?: ReadonlyMap<string, SourceOffsets>
}

export interface Converted {
  readonly value: unknown
  readonly offsets: SourceOffsets
}

export type ReportIssue = (offset: number, message: string) => void

/** What stands in the mapping itself, or was merged before, wins. */
export function mergeInherited(
  { value, offsets: place }: Converted,
  entries: Map<string, unknown>,
  children: Map<string, SourceOffsets>,
): void {
  for (const [name, inherited] of Object.entries(value ?? {})) {
    if (entries.has(name)) continue
    entries.set(name, inherited)
    children.set(name, place.children?.get(name) ?? place)
  }
}

/** Lets through what JSON knows. Reports the rest and gives null. */
export function toPlainScalar(value: unknown, source: string | undefined, at: number, report: ReportIssue): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number' && Number.isFinite(value)) {
    const digits = source !== undefined && /^[-+]?\d+$/.test(source)
    return digits && !Number.isSafeInteger(value) ? source : value
  }
  report(at, 'not a plain value: expected a text, a number, true, false or null')
  return null
}

/** The offset of a path, or of the nearest enclosing place that exists. */
export function offsetOf(root: SourceOffsets, path: readonly PathPart[], at: 'key' | 'value'): number {
  let place = root
  for (const part of path) {
    const next = place.children?.get(String(part))
    if (next === undefined) return place.key
    place = next
  }
  return at === 'key' ? place.key : place.value
}

/** The control characters that YAML forbids. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
export const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

/** A key as a message may show it. */
export function quoteKey(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name)
}
