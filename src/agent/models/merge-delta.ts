/**
 * Adds one streamed fragment of a JSON object to what came before. General on purpose: fields that no documentation
 * names (a router's reasoning details, a vendor's signatures) must be there in the final JSON too.
 */

import { isRecord } from '../../lib/json.ts'
import { type JsonObject, ModelError } from './provider.ts'
import type { CountChars } from './response-size-limit.ts'

export type MutableJsonObject = { [key: string]: unknown }

/** Fields that name something and are repeated, not continued. */
const REPLACED_FIELDS = new Set([
  'id',
  'index',
  'type',
  'role',
  'name',
  'object',
  'model',
  'format',
  'finish_reason',
  'native_finish_reason',
  'stop_reason',
])

/** Looking entries up by index is linear; more of them than any answer has would make it quadratic. */
const MAX_INDEXED_ENTRIES = 2000

/**
 * Texts grow, objects merge, list entries with an `index` merge with the entry of that index and others are appended,
 * everything else is replaced. null never erases. `target` is changed, `fragment` is not and nothing of it is shared.
 */
export function mergeDelta(target: MutableJsonObject, fragment: JsonObject, spend: CountChars): void {
  for (const [key, value] of Object.entries(fragment)) {
    // Assigning this key would change the prototype instead of adding a field.
    if (key !== '__proto__') target[key] = mergeValue(key, target[key], value, spend)
  }
}

function mergeValue(key: string, before: unknown, value: unknown, spend: CountChars): unknown {
  if (value === null || value === undefined) return before === undefined ? value : before
  if (typeof value === 'string') {
    spend(value.length)
    if (typeof before !== 'string') return value
    return REPLACED_FIELDS.has(key) ? value || before : before + value
  }
  if (Array.isArray(value)) {
    const entries: unknown[] = Array.isArray(before) ? before : []
    for (const entry of value) mergeEntry(entries, entry, spend)
    return entries
  }
  if (!isRecord(value)) return value
  const result: MutableJsonObject = isRecord(before) ? { ...before } : {}
  mergeDelta(result, value, spend)
  return result
}

function mergeEntry(entries: unknown[], entry: unknown, spend: CountChars): void {
  const index = isRecord(entry) ? entry['index'] : undefined
  const position =
    index === undefined ? -1 : entries.findIndex((existing) => isRecord(existing) && existing['index'] === index)
  if (index !== undefined && entries.length > MAX_INDEXED_ENTRIES) {
    throw new ModelError('bad-response', `The model sent a list of more than ${MAX_INDEXED_ENTRIES} parts.`)
  }
  if (position === -1) entries.push(mergeValue('', undefined, entry, spend))
  else entries[position] = mergeValue('', entries[position], entry, spend)
}
