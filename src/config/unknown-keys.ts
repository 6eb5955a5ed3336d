/**
 * Finds keys that no module reads: unknown ones are usually typing errors, and the closest known key is suggested. Known ones
 * have no effect in this version.
 */
import type { z } from 'zod'
import { findClosestMatch } from '../lib/did-you-mean.ts'
import type { PathPart } from '../lib/yaml.ts'
import { acceptsNull, childType, knownKeys } from './schema-introspection.ts'
import type { ConfigShape } from './section.ts'
import { isTree } from './tree.ts'

export interface UnknownKey {
  readonly path: readonly PathPart[]
  readonly key: string
  readonly suggestion: string | null
}

/** A key of Hermes that no module reads. */
export interface UnusedKey {
  /** Dotted, with all its content; `*` matches one part: `auxiliary.*`. */
  readonly key: string
  /** `security`: the key restricts something, so ignoring it degrades the gateway. */
  readonly kind: 'unused' | 'security'
  /** Why, and what to use instead: a clause without a period. */
  readonly reason: string
}

interface FoundUnusedKey extends Pick<UnusedKey, 'kind' | 'reason'> {
  readonly path: readonly PathPart[]
}

export interface UnknownKeysResult {
  /** A copy without unknown keys, which strict types reject, and without empty keys. */
  readonly tree: unknown
  readonly unknown: readonly UnknownKey[]
  readonly unused: readonly FoundUnusedKey[]
}

/** The first of the keys that has the path or one of its parents. */
export function findUnusedKey(path: readonly PathPart[], keys: readonly UnusedKey[]): UnusedKey | undefined {
  return keys.find(({ key }) => matchesPattern(key.split('.'), path))
}

export function splitUnknownKeys(
  tree: unknown,
  shapes: ConfigShape,
  unusedKeys: readonly UnusedKey[],
): UnknownKeysResult {
  const patterns = unusedKeys.map(({ key }) => key.split('.'))
  const unknown: UnknownKey[] = []
  const unused: FoundUnusedKey[] = []

  const keep = (key: string, path: readonly PathPart[], known: readonly string[]): boolean => {
    if (known.includes(key)) return true
    const within = [...path, key]
    const match = findUnusedKey(within, unusedKeys)
    if (match !== undefined) {
      unused.push({ path: within, kind: match.kind, reason: match.reason })
      return false
    }
    const matching = patterns.filter(
      (parts) => parts.length === path.length + 1 && matchesPattern(parts.slice(0, path.length), path),
    )
    const candidates = [...known, ...matching.map((parts) => parts[path.length] ?? '')]
    unknown.push({ path: within, key, suggestion: findClosestMatch(key, candidates) })
    return false
  }
  const visit = (value: unknown, type: z.ZodType, path: readonly PathPart[]): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => descend(item, type, path, index))
    if (!isTree(value)) return value
    const known = knownKeys(type)
    const entries = Object.entries(value).filter(
      ([key, inner]) => (known === undefined || keep(key, path, known)) && !isEmptyValue(inner, childType(type, key)),
    )
    return Object.fromEntries(entries.map(([key, inner]) => [key, descend(inner, type, path, key)]))
  }
  const descend = (value: unknown, type: z.ZodType, path: readonly PathPart[], part: PathPart): unknown => {
    const inner = childType(type, part)
    return inner === undefined ? value : visit(value, inner, [...path, part])
  }

  if (!isTree(tree)) return { tree, unknown, unused }
  const top = Object.entries(tree).filter(
    ([key, value]) => keep(key, [], Object.keys(shapes)) && !isEmptyValue(value, shapes[key]),
  )
  const sections = top.map(([key, value]) => {
    const type = Object.hasOwn(shapes, key) ? shapes[key] : undefined
    return [key, type === undefined ? value : visit(value, type, [key])]
  })
  return { tree: Object.fromEntries(sections), unknown, unused }
}

/** `port:` without a value means the default, unless the type accepts null. */
function isEmptyValue(value: unknown, type: z.ZodType | undefined): boolean {
  return value === null && type !== undefined && !acceptsNull(type)
}

/** Whether the path or one of its parents matches the pattern. */
function matchesPattern(pattern: readonly string[], path: readonly PathPart[]): boolean {
  return pattern.length <= path.length && pattern.every((part, index) => part === '*' || part === String(path[index]))
}
