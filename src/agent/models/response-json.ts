/**
 * What the three wire formats share when the JSON of a response is built from chunks and read: merging of streamed
 * fragments, the limit on their size, and the token usage.
 */
import { asArray, asNumber, asRecord, isRecord, type JsonObject } from '../../lib/json.ts'
import type { Usage } from '../../message/transcript.ts'
import { ModelError } from './provider.ts'

export type MutableJsonObject = { [key: string]: unknown }

/** Adds to the number of characters kept. Throws `ModelError` (`bad-response`) when the limit is exceeded. */
export type CountChars = (chars: number) => void

/** Limits the characters kept of one response, so that a model that never stops cannot fill the memory. */
export function createResponseSizeLimit(maxChars: number): CountChars {
  let length = 0
  return (chars) => {
    length += chars
    if (length > maxChars) {
      throw new ModelError('bad-response', `The model sent more than ${maxChars} characters and did not stop.`, {
        maxTries: 1,
      })
    }
  }
}

/** Fields that identify a part of the response in each of its deltas. */
const IDENTIFYING_FIELDS = new Set(['id', 'index', 'type', 'role', 'format', 'object'])

/** Whether a delta contains more than white space. */
export function hasOutput(delta: unknown): boolean {
  if (typeof delta === 'string') return /\S/.test(delta)
  if (Array.isArray(delta)) return delta.some(hasOutput)
  if (!isRecord(delta)) return false
  return Object.keys(delta).some((key) => !IDENTIFYING_FIELDS.has(key) && hasOutput(delta[key]))
}

/** Fields that are repeated with each fragment instead of being continued. */
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

/** The search by index is linear. No response has this many entries; more of them would make the merge quadratic. */
const MAX_INDEXED_ENTRIES = 2000

/**
 * Merges one streamed fragment into the object that was built so far. It knows no field names, so that undocumented
 * fields (the reasoning details of a router, the signatures of a vendor) reach the final JSON too.
 *
 * Strings are concatenated and objects merged. Array entries with an `index` are merged with the entry of that index,
 * others are appended. Everything else is replaced, but never by null. `target` is modified; `fragment` is neither
 * modified nor shared. Fields of `without` are left out.
 */
export function mergeDelta(
  target: MutableJsonObject,
  fragment: JsonObject,
  countChars: CountChars,
  without?: ReadonlySet<string>,
): void {
  // Each piece of a stream comes here: a list of the keys costs less than one of pairs, and much less than a copy of the rest.
  for (const key of Object.keys(fragment)) {
    // Assigning this key would change the prototype instead of adding a field.
    if (key === '__proto__' || without?.has(key) === true) continue
    target[key] = mergeValue(key, target[key], fragment[key], countChars)
  }
}

function mergeValue(key: string, before: unknown, value: unknown, countChars: CountChars): unknown {
  if (value === null || value === undefined) return before === undefined ? value : before
  if (typeof value === 'string') {
    countChars(value.length)
    if (typeof before !== 'string') return value
    return REPLACED_FIELDS.has(key) ? value || before : before + value
  }
  if (Array.isArray(value)) {
    const entries: unknown[] = Array.isArray(before) ? before : []
    for (const entry of value) mergeEntry(entries, entry, countChars)
    return entries
  }
  if (!isRecord(value)) return value
  const result: MutableJsonObject = isRecord(before) ? { ...before } : {}
  mergeDelta(result, value, countChars)
  return result
}

function mergeEntry(entries: unknown[], entry: unknown, countChars: CountChars): void {
  const index = isRecord(entry) ? entry['index'] : undefined
  const position =
    index === undefined ? -1 : entries.findIndex((existing) => isRecord(existing) && existing['index'] === index)
  if (index !== undefined && entries.length > MAX_INDEXED_ENTRIES) {
    throw new ModelError('bad-response', `The model sent a list of more than ${MAX_INDEXED_ENTRIES} parts.`)
  }
  if (position === -1) entries.push(mergeValue('', undefined, entry, countChars))
  else entries[position] = mergeValue('', entries[position], entry, countChars)
}

/** No request asks for this many alternatives, calls or blocks. A larger index is invalid. */
const MAX_INDEX = 1000

export function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_INDEX
}

export function valuesByIndex<Value>(values: ReadonlyMap<number, Value>): Value[] {
  return [...values.entries()].sort(([a], [b]) => a - b).map(([, value]) => value)
}

/**
 * The token usage in a finished response or in one chunk of a stream, in any of the three wire formats; undefined where
 * there is none. Several chunks of a stream may report usage: each counts from the beginning of the stream, so the
 * largest value of each number is the final one. Never throws.
 */
export function extractUsage(json: unknown): Usage | undefined {
  const { usage, response, message, choices } = asRecord(json)
  const candidates = [
    usage,
    asRecord(response)['usage'],
    asRecord(message)['usage'],
    asRecord(asArray(choices)[0])['usage'],
  ]
  const choice = candidates.find(isRecord)
  if (choice === undefined) return undefined
  const details = asRecord(choice['prompt_tokens_details'] ?? choice['input_tokens_details'])
  // Anthropic counts cached tokens in addition to the input; the others count them as a part of it.
  const read = tokenCount(choice['cache_read_input_tokens'])
  const written = tokenCount(choice['cache_creation_input_tokens'])
  return {
    inputTokens: (tokenCount(choice['prompt_tokens']) || tokenCount(choice['input_tokens'])) + read + written,
    outputTokens: tokenCount(choice['completion_tokens']) || tokenCount(choice['output_tokens']),
    // `prompt_cache_hit_tokens` is DeepSeek's name.
    cachedInputTokens: read || tokenCount(details['cached_tokens']) || tokenCount(choice['prompt_cache_hit_tokens']),
    cacheWriteTokens: written || tokenCount(details['cache_write_tokens']),
    ...reportedCost(choice),
  }
}

/** OpenRouter reports what it bills, and what the vendor bills to the owner of the key. */
function reportedCost({ cost, is_byok: usesOwnKey, cost_details: details }: JsonObject): { cost?: number } {
  if (typeof cost !== 'number' || !(cost >= 0)) return {}
  const upstream = usesOwnKey === true ? tokenCount(asRecord(details)['upstream_inference_cost']) : 0
  return { cost: cost + upstream }
}

function tokenCount(value: unknown): number {
  return Math.max(0, asNumber(value))
}
