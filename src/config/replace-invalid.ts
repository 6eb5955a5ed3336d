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
  /** What the value does, for a message that cannot show it. */
  readonly effect?: string
}

export interface ReplacedValue {
  readonly tree: unknown
  /** The path of what was replaced; it covers all invalid values below it. */
  readonly path: readonly PathPart[]
  /** The key that makes its account unusable. Absent outside of accounts. */
  readonly accountKey?: readonly PathPart[]
  /** What is used instead of the value. Empty: the default. */
  readonly safeValues: readonly SafeValue[]
  /** The item of a list was omitted, and the others remain. */
  readonly isItem?: boolean
}

/** Returns the tree without the invalid value. `undefined` if there is none at the path or above it. */
export function replaceInvalidValue(
  tree: unknown,
  path: readonly PropertyKey[],
  safeValues: readonly SafeValue[],
): ReplacedValue | undefined {
  const item = hookProgramOf(tree, path)
  if (item !== undefined) return withoutHookProgram(tree, path, item, safeValues)
  const key = existingKey(tree, path)
  if (key === undefined) return undefined
  if (key[0] === 'platforms' && key.length > 1)
    return { ...withoutAccountKey(tree, key), path: accountKeyOf(key) ?? key, safeValues: [] }
  const [section, server] = key
  if (section === 'mcp_servers' && server !== undefined && key.length > 2) return withoutServer(tree, key, server)
  const safe = safeValues.filter((value) => overlapsKey(key, value.key.split('.')))
  const replaced = safe.reduce(
    (rest, { key: from, set, value }) => withValue(rest, (set ?? from).split('.'), value),
    withoutKey(tree, key),
  )
  return { tree: replaced, path: key, safeValues: safe }
}

/** An MCP server is turned off: without its `tools.exclude` it would have tools that its owner does not want. */
function withoutServer(tree: unknown, key: readonly PathPart[], server: PathPart): ReplacedValue {
  const enabled = ['mcp_servers', String(server), 'enabled']
  const safe = { key: enabled.join('.'), value: false, effect: 'the server is turned off' }
  return { tree: withValue(withoutKey(tree, key), enabled, false), path: key, safeValues: [safe] }
}

/** An item of `hooks.<event>` or `hooks.outbound`. The items are independent, and one of them may be a safety check. */
function hookProgramOf(tree: unknown, path: readonly PropertyKey[]): readonly PathPart[] | undefined {
  const [section, event, index] = path
  if (section !== 'hooks' || typeof event !== 'string' || typeof index !== 'number') return undefined
  return Array.isArray(valueAt(tree, [section, event])) ? [section, event, index] : undefined
}

/**
 * Without its `command`, an item is left empty: removing it would change the indices of later issues. A webhook is left empty
 * for any invalid key, because without its secret or its matcher it would send what its owner did not want.
 */
function withoutHookProgram(
  tree: unknown,
  path: readonly PropertyKey[],
  item: readonly PathPart[],
  safeValues: readonly SafeValue[],
): ReplacedValue | undefined {
  const program = valueAt(tree, item)
  if (program === undefined) return undefined
  const field = path[item.length]
  if (field === 'fail_closed') {
    const key = [...item, field]
    return { tree: withValue(tree, key, true), path: key, safeValues: [{ key: key.join('.'), value: true }] }
  }
  if (typeof field === 'string' && field !== 'command' && item[1] !== 'outbound' && isTree(program))
    return { tree: withoutKey(tree, [...item, field]), path: [...item, field], safeValues: [] }
  const safe = safeValues.filter((value) => overlapsKey(item, value.key.split('.')))
  return { tree: withValue(tree, item, undefined), path: item, safeValues: safe, isItem: true }
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
