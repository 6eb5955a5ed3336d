/**
 * Replaces invalid values, so that one bad key does not turn the others off. A value of a chat account disables the account.
 */
import type { PathPart } from '../lib/yaml.ts'
import { isTree, valueAt, withoutKey, withValue } from './tree.ts'
import { accountKeyOf } from './unusable-settings.ts'

/** What replaces an invalid value where the default would permit more than the owner may have wanted. */
export interface SafeValue {
  /** Dotted. */
  readonly key: string
  /** The dotted key that is set instead. Default: the key itself. */
  readonly set?: string
  readonly value: unknown
}

export interface ReplacedValue {
  readonly tree: unknown
  /** The key that makes its account unusable. Absent outside of accounts. */
  readonly accountKey?: readonly PathPart[]
  /** What is used instead of the value. Empty: the default. */
  readonly safeValues: readonly SafeValue[]
}

/** Returns the tree without the invalid value. `undefined` if there is none at the path or above it. */
export function replaceInvalidValue(
  tree: unknown,
  path: readonly PropertyKey[],
  safeValues: readonly SafeValue[],
): ReplacedValue | undefined {
  const key = existingKey(tree, path)
  if (key === undefined) return undefined
  if (key[0] === 'platforms' && key.length > 1) return { ...withoutAccountKey(tree, key), safeValues: [] }
  const safe = safeValues.filter((one) => overlapsKey(key, one.key.split('.')))
  const replaced = safe.reduce(
    (rest, { key: from, set, value }) => withValue(rest, (set ?? from).split('.'), value),
    withoutKey(tree, key),
  )
  return { tree: replaced, safeValues: safe }
}

/** The nearest key of a mapping: an item of a list is not removed alone, because the other items would mean something else. */
function existingKey(tree: unknown, path: readonly PropertyKey[]): readonly PathPart[] | undefined {
  const parts = path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  for (let length = parts.length; length > 0; length--) {
    const key = parts.slice(0, length)
    if (isTree(valueAt(tree, key.slice(0, -1))) && valueAt(tree, key) !== undefined) return key
  }
  return undefined
}

function withoutAccountKey(tree: unknown, path: readonly PathPart[]): Pick<ReplacedValue, 'tree' | 'accountKey'> {
  const key = accountKeyOf(path)
  if (key !== undefined) return { tree: withoutKey(tree, key), accountKey: key }
  // A whole account stays in the list of accounts, so that its state shows the reason.
  const isAccount = path.length === 4 && !isTree(valueAt(tree, path))
  if (isAccount) return { tree: withValue(tree, path, {}), accountKey: [...path, 'enabled'] }
  const isPlatform = path.length < 4
  return { tree: withoutKey(tree, path), ...(isPlatform ? { accountKey: [...path.slice(0, 2), 'enabled'] } : {}) }
}

/** One contains the other. */
function overlapsKey(path: readonly PathPart[], key: readonly string[]): boolean {
  return path.slice(0, key.length).every((part, index) => String(part) === key[index])
}
