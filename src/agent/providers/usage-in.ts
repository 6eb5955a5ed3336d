/**
 * The tokens that a vendor's JSON tells of, in each of the three wire formats: a finished response, or one chunk of a
 * stream. Providers read their own; this is for who sees the answers of all of them.
 */
import type { Usage } from '../../message/transcript.ts'
import { isRecord, list, num, record } from './json.ts'

/**
 * Undefined where nothing is told. Of a stream several chunks may tell of parts; all count from its beginning, so of each
 * number the largest is the one that holds. Never throws.
 */
export function usageIn(json: unknown): Usage | undefined {
  const { usage, response, message, choices } = record(json)
  const told = [usage, record(response)['usage'], record(message)['usage'], record(list(choices)[0])['usage']]
  const found = told.find(isRecord)
  if (found === undefined) return undefined
  const details = record(found['prompt_tokens_details'] ?? found['input_tokens_details'])
  // Anthropic counts these beside the input, the others as a part of it.
  const read = count(found['cache_read_input_tokens'])
  const written = count(found['cache_creation_input_tokens'])
  return {
    inputTokens: (count(found['prompt_tokens']) || count(found['input_tokens'])) + read + written,
    outputTokens: count(found['completion_tokens']) || count(found['output_tokens']),
    cachedInputTokens: read || count(details['cached_tokens']) || count(found['prompt_cache_hit_tokens']),
    cacheWriteTokens: written || count(details['cache_write_tokens']),
  }
}

/** What is no number of tokens is none. */
function count(value: unknown): number {
  return Math.max(0, num(value))
}
