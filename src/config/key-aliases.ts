/**
 * Moves values from other spellings of Hermes to the keys that the modules read: `model: {default: ...}`, `telegram:` at the
 * top level, `gateway.platforms`.
 */
import type { PathPart } from '../lib/yaml.ts'
import { isTree, valueAt, withoutKey, withValue } from './tree.ts'

/** Two dotted keys. `model.default` may move to `model` itself, which then is no mapping any more. */
export interface KeyAlias {
  readonly from: string
  readonly to: string
  /** The value, one item or a list of them, is added to the list of the other key. */
  readonly isItem?: true
}

interface ShadowedKey {
  readonly path: readonly PathPart[]
  /** The key that takes precedence. */
  readonly by: readonly PathPart[]
}

interface Move {
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly isItem: boolean
}

export type AliasedTree = ReturnType<typeof applyKeyAliases>

/** The main spelling takes precedence, then the first alias. */
export function applyKeyAliases(root: unknown, aliases: readonly KeyAlias[]) {
  const moves = aliases.map(
    ({ from, to, isItem }): Move => ({ from: from.split('.'), to: to.split('.'), isItem: isItem ?? false }),
  )
  const present = moves.filter(({ from }) => valueAt(root, from) !== undefined)
  const moved: { readonly from: readonly PathPart[]; readonly to: readonly PathPart[] }[] = []
  /** Keys without effect, because another spelling has a value, too. */
  const shadowed: ShadowedKey[] = []
  let tree = present.reduce<unknown>((rest, { from }) => withoutMovedKey(rest, from), root)

  // A mapping under a key that is a value itself.
  const dissolved = moves.filter(({ from, to }) => from.length === to.length + 1 && startsWith(from, to))
  /** Keys of a mapping that became a value, and that have no alias. `known`: the keys that have one. */
  const leftOver = [...new Set(dissolved.map(({ to }) => to.join('.')))].flatMap((key) => {
    const path = key.split('.')
    const mapping = valueAt(tree, path)
    if (!isTree(mapping)) return []
    tree = withoutKey(tree, path)
    const known = moves
      .filter(({ from }) => from.length === path.length + 1 && startsWith(from, path))
      .map(({ from }) => from.at(-1) ?? '')
    return Object.keys(mapping).map((inner) => ({ path: [...path, inner], known }))
  })

  /** A moved mapping can contain a key that has an alias itself: `slack.token` -> `platforms.slack.token` -> `bot_token`. */
  const merge = (value: unknown, from: readonly PathPart[], alias: readonly PathPart[]): void => {
    const to = moves.find((move) => isSame(move.from, alias))?.to ?? alias
    const existing = valueAt(tree, to)
    const isUnset = existing === undefined || existing === null
    const hasAliasInside = moves.some((move) => move.from.length > to.length && startsWith(move.from, to))
    if (value === null || value === undefined) return
    if (isTree(value) && (isTree(existing) || (isUnset && hasAliasInside))) {
      for (const [key, inner] of Object.entries(value)) merge(inner, [...from, key], [...to, key])
    } else if (isUnset) {
      tree = withValue(tree, to, value)
      moved.push({ from, to })
    } else shadowed.push({ path: from, by: to })
  }
  const append = (value: unknown, from: readonly PathPart[], to: readonly PathPart[]): void => {
    const list = valueAt(tree, to) ?? []
    const isEmpty = value === null || (isTree(value) && Object.keys(value).length === 0)
    if (isEmpty) return
    // Neither a list nor empty: the file is wrong there, and validation says so.
    if (!Array.isArray(list)) return void shadowed.push({ path: from, by: to })
    const items: readonly unknown[] = Array.isArray(value) ? value : [value]
    tree = withValue(tree, to, [...list, ...items])
    for (const index of items.keys())
      moved.push({ from: Array.isArray(value) ? [...from, index] : from, to: [...to, list.length + index] })
  }
  for (const { from, to, isItem } of present) (isItem ? append : merge)(valueAt(root, from), from, to)

  /** Where the value of a path is in the file. */
  const sourceOf = (path: readonly PropertyKey[]): readonly PropertyKey[] => {
    const fitting = moved.filter(({ to }) => startsWith(path, to))
    const longest = fitting.sort((a, b) => b.to.length - a.to.length)[0]
    return longest === undefined ? path : [...longest.from, ...path.slice(longest.to.length)]
  }
  return { tree, sourceOf, shadowed, leftOver }
}

/** Removes the mapping of the key as well if it is empty then. */
function withoutMovedKey(tree: unknown, path: readonly string[]): unknown {
  const rest = withoutKey(tree, path)
  const parent = path.slice(0, -1)
  const mapping = valueAt(rest, parent)
  return parent.length > 0 && isTree(mapping) && Object.keys(mapping).length === 0 ? withoutKey(rest, parent) : rest
}

function isSame(path: readonly PropertyKey[], other: readonly PropertyKey[]): boolean {
  return path.length === other.length && startsWith(path, other)
}

function startsWith(path: readonly PropertyKey[], prefix: readonly PropertyKey[]): boolean {
  return prefix.length <= path.length && prefix.every((part, index) => String(part) === String(path[index]))
}
