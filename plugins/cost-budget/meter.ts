/**
 * Counts what the vendor really sent: the tokens it told of, or what came before it was cut off.
 */
import { type Fields, type Usage, usageIn } from '#sdk'

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }

/** Before the answer: four letters are about one token. */
export function expectedUsage(request: Fields, expectedOutput: number): Usage {
  const limits = [request['max_tokens'], request['max_completion_tokens'], request['max_output_tokens']]
  const limit = limits.find((one) => typeof one === 'number' && one >= 0)
  return {
    ...noUsage,
    inputTokens: Math.ceil(JSON.stringify(request).length / 4),
    outputTokens: Math.min(typeof limit === 'number' ? limit : expectedOutput, expectedOutput),
  }
}

/**
 * Passes the chunks on as they are. `began` is called when somebody begins to read, `done` once, however the stream ends;
 * a stream that ended before its first chunk cost nothing.
 */
export async function* metered(
  open: () => Promise<AsyncIterable<unknown>>,
  expected: Usage,
  done: (usage: Usage) => void,
  began: () => void = () => undefined,
): AsyncGenerator<unknown, void, void> {
  let chunks = 0
  let told = noUsage
  let complete = false
  try {
    began()
    for await (const chunk of await open()) {
      chunks += 1
      told = larger(told, usageIn(chunk))
      yield chunk
    }
    complete = true
  } finally {
    done(chunks === 0 ? noUsage : complete && told.outputTokens > 0 ? told : guessed(told, expected, chunks))
  }
}

/** A chunk is about one token. */
function guessed(told: Usage, { inputTokens }: Usage, chunks: number): Usage {
  return {
    ...told,
    inputTokens: told.inputTokens || inputTokens,
    outputTokens: Math.max(told.outputTokens, chunks),
  }
}

function larger(one: Usage, other: Usage = noUsage): Usage {
  return {
    inputTokens: Math.max(one.inputTokens, other.inputTokens),
    outputTokens: Math.max(one.outputTokens, other.outputTokens),
    cachedInputTokens: Math.max(one.cachedInputTokens, other.cachedInputTokens),
    cacheWriteTokens: Math.max(one.cacheWriteTokens, other.cacheWriteTokens),
  }
}
