/**
 * Reads, sets and compares values in plain data by path. Trees are copied, never modified.
 */
import { isDeepStrictEqual } from 'node:util'
import type { PathPart } from '../lib/yaml.ts'

export type ConfigTree = Readonly<Record<string, unknown>>

export function isTree(value: unknown): value is ConfigTree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  let value = tree
  for (const part of path) {
    if (Array.isArray(value)) value = value[Number(part)]
    else if (isTree(value) && Object.hasOwn(value, part)) value = value[String(part)]
    else return undefined
  }
  return value
}

/** Returns a copy with the value at the path. Missing parents are created. If a parent is not an object, nothing is set. */
export function withValue(tree: unknown, path: readonly PathPart[], value: unknown): unknown {
  const [part, ...rest] = path
  if (part === undefined) return value
  if (Array.isArray(tree)) return tree.map((item, index) => (index === part ? withValue(item, rest, value) : item))
  if (tree !== undefined && tree !== null && !isTree(tree)) return tree
  const inner = isTree(tree) && Object.hasOwn(tree, part) ? tree[part] : undefined
  return { ...tree, [part]: withValue(inner, rest, value) }
}

/** Returns a copy without the key at the path, or the tree itself if the key does not exist. Items of lists stay. */
export function withoutKey(tree: unknown, path: readonly PathPart[]): unknown {
  const [part, ...rest] = path
  if (Array.isArray(tree) && rest.length > 0)
    return tree.map((item, index) => (index === part ? withoutKey(item, rest) : item))
  if (part === undefined || !isTree(tree) || !Object.hasOwn(tree, part)) return tree
  if (rest.length > 0) return { ...tree, [part]: withoutKey(tree[part], rest) }
  return Object.fromEntries(Object.entries(tree).filter(([key]) => key !== String(part)))
}

/** Sorted dotted paths of the differences. A list is one value. */
export function changedPaths(a: unknown, b: unknown, path = ''): string[] {
  if (!isTree(a) || !isTree(b)) return isDeepStrictEqual(a, b) ? [] : [path]
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].sort().flatMap((key) => changedPaths(a[key], b[key], path === '' ? key : `${path}.${key}`))
}

/** Whether two dotted paths are equal or one contains the other. */
export function overlaps(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`)
}
