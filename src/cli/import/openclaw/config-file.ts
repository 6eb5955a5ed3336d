/**
 * Reads openclaw.json (JSON5) with the files that it includes.
 */
import { messageOf } from '../../../lib/errors.ts'
import { isRecord, type JsonObject } from '../../../lib/json.ts'
import { parseJson5 } from '../../../lib/json5.ts'
import type { ImportEntry } from '../contract.ts'
import { openclawConfigNames } from '../find-homes.ts'
import { failed, left, type SourceHome } from '../source-home.ts'

const maxIncludes = 50

export function readOpenclawConfig(source: SourceHome, entries: ImportEntry[]): JsonObject {
  const name = openclawConfigNames.find((known) => source.kindOf(known) !== 'missing')
  if (name === undefined) {
    entries.push(failed('settings', 'openclaw.json', 'it does not exist'))
    return {}
  }
  let included = 0

  function read(path: string): unknown {
    const file = source.text(path)
    if (file === undefined || 'problem' in file) {
      entries.push(failed('settings', path, file === undefined ? 'it does not exist' : file.problem))
      return {}
    }
    try {
      return resolveIncludes(parseJson5(file.text))
    } catch (error) {
      entries.push(failed('settings', path, messageOf(error)))
      return {}
    }
  }

  /** `{$include: 'a.json5' | ['a.json5', …], …}`: what stands beside it takes precedence. */
  function resolveIncludes(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolveIncludes)
    if (!isRecord(value)) return value
    const { $include: include, ...beside } = value
    const rest = Object.fromEntries(Object.entries(beside).map(([key, inner]) => [key, resolveIncludes(inner)]))
    const paths = typeof include === 'string' ? [include] : Array.isArray(include) ? include : []
    const parts = paths.map((path) => {
      included += 1
      const isInside = typeof path === 'string' && !path.startsWith('/') && !path.split('/').includes('..')
      if (isInside && included <= maxIncludes) return read(path)
      entries.push(left('settings', '$include', 'only files of the home are read'))
      return {}
    })
    return [...parts, rest].reduce(merge, {})
  }

  const config = read(name)
  if (isRecord(config)) return config
  entries.push(failed('settings', name, 'it is not an object'))
  return {}
}

function merge(a: unknown, b: unknown): unknown {
  if (!isRecord(a) || !isRecord(b)) return b
  const merged = new Map(Object.entries(a))
  for (const [key, value] of Object.entries(b)) merged.set(key, merged.has(key) ? merge(merged.get(key), value) : value)
  return Object.fromEntries(merged)
}
