/**
 * Measures a response stream: the usage that the vendor reports, or an estimate for an aborted stream.
 */
import { extractUsage, type Fields, type Usage } from '#sdk'

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }

/** Estimates the usage before the call. Four characters are about one token. */
export function estimateUsage(request: Fields, expectedOutput: number): Usage {
  const limits = [request['max_tokens'], request['max_completion_tokens'], request['max_output_tokens']]
  const limit = limits.find((limit) => typeof limit === 'number' && limit >= 0)
  return {
    ...noUsage,
    inputTokens: Math.ceil(JSON.stringify(request).length / 4),
    outputTokens: Math.min(typeof limit === 'number' ? limit : expectedOutput, expectedOutput),
  }
}

/**
 * Passes chunks through unchanged. Calls `onStart` when the stream is first read, and `onEnd` once at its end, also after
 * an error or an abort. A stream that ended before its first chunk has no cost.
 */
export async function* meterStream(
  open: () => Promise<AsyncIterable<unknown>>,
  expected: Usage,
  onEnd: (usage: Usage) => void,
  onStart: () => void = () => undefined,
): AsyncGenerator<unknown, void, void> {
  let chunks = 0
  let reported = noUsage
  let complete = false
  try {
    onStart()
    for await (const chunk of await open()) {
      chunks += 1
      reported = maxUsage(reported, extractUsage(chunk))
      yield chunk
    }
    complete = true
  } finally {
    onEnd(
      chunks === 0
        ? noUsage
        : complete && reported.outputTokens > 0
          ? reported
          : estimateMissingUsage(reported, expected, chunks),
    )
  }
}

/** A chunk is about one token. */
function estimateMissingUsage(reported: Usage, { inputTokens }: Usage, chunks: number): Usage {
  return {
    ...reported,
    inputTokens: reported.inputTokens || inputTokens,
    outputTokens: Math.max(reported.outputTokens, chunks),
  }
}

function maxUsage(a: Usage, b: Usage = noUsage): Usage {
  return {
    inputTokens: Math.max(a.inputTokens, b.inputTokens),
    outputTokens: Math.max(a.outputTokens, b.outputTokens),
    cachedInputTokens: Math.max(a.cachedInputTokens, b.cachedInputTokens),
    cacheWriteTokens: Math.max(a.cacheWriteTokens, b.cacheWriteTokens),
  }
}
