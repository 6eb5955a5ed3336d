/**
 * Narrow looks at JSON from outside: vendors send what they like, and nothing here throws.
 */
import { isRecord } from '../../lib/is-record.ts'
import type { JsonObject } from './provider.ts'

export { isRecord }

/** The value if it is a record, otherwise an empty one, so that a path of look-ups needs no checks between. */
export function asRecord(value: unknown): JsonObject {
  return isRecord(value) ? value : {}
}

/** The value if it is a string, otherwise ''. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The value if it is a finite number, otherwise 0. */
export function asNumber(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

/** The value if it is a list, otherwise an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Parses JSON text; undefined (which no JSON text means) where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether lists and records are nested more than `limit` deep. Walks without recursion, so depth cannot overflow it. */
export function exceedsDepth(value: unknown, limit: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return true
    const below: unknown[] = []
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue
      for (const child of Object.values(item)) if (typeof child === 'object' && child !== null) below.push(child)
    }
    level = below
  }
  return false
}
