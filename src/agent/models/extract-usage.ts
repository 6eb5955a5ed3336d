/**
 * The tokens that a vendor's JSON tells of, in each of the three wire formats: a finished response, or one chunk of a
 * stream. Providers read their own; this is for who sees the answers of all of them.
 */

import { asArray, asNumber, asRecord, isRecord } from '../../lib/json.ts'
import type { Usage } from '../../message/transcript.ts'

/**
 * Undefined where nothing is told. Of a stream several chunks may tell of parts; all count from its beginning, so of each
 * number the largest is the one that holds. Never throws.
 */
export function extractUsage(json: unknown): Usage | undefined {
  const { usage, response, message, choices } = asRecord(json)
  const candidates = [
    usage,
    asRecord(response)['usage'],
    asRecord(message)['usage'],
    asRecord(asArray(choices)[0])['usage'],
  ]
  const found = candidates.find(isRecord)
  if (found === undefined) return undefined
  const details = asRecord(found['prompt_tokens_details'] ?? found['input_tokens_details'])
  // Anthropic counts these beside the input, the others as a part of it.
  const read = tokenCount(found['cache_read_input_tokens'])
  const written = tokenCount(found['cache_creation_input_tokens'])
  return {
    inputTokens: (tokenCount(found['prompt_tokens']) || tokenCount(found['input_tokens'])) + read + written,
    outputTokens: tokenCount(found['completion_tokens']) || tokenCount(found['output_tokens']),
    cachedInputTokens: read || tokenCount(details['cached_tokens']) || tokenCount(found['prompt_cache_hit_tokens']),
    cacheWriteTokens: written || tokenCount(details['cache_write_tokens']),
  }
}

/** What is no number of tokens is none. */
function tokenCount(value: unknown): number {
  return Math.max(0, asNumber(value))
}
