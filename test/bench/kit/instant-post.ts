/**
 * Replaces `src/agent/models/http-post.ts` to measure the own share of the gateway in a turn: it returns the bytes of a server at
 * once and without a connection.
 */
import type { Post } from '../../../src/agent/models/http-post.ts'

const pieces = ['Here', ' is', ' an', ' answer', ' of', ' ten', ' short', ' words', ' for', ' you']
const frames = [
  ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 11, completion_tokens: 10, total_tokens: 21 } },
]
const stream = `${frames
  .map(
    (frame) => `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: 'instant', ...frame })}\n\n`,
  )
  .join('')}data: [DONE]\n\n`

export { readPrefix } from '../../../src/agent/models/http-post.ts'

const bytes = Buffer.from(stream)

export function createPost(): Post {
  return async () => {
    const pieces = [bytes]
    const read = async () => {
      const value = pieces.shift()
      return { done: value === undefined, value }
    }
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: { read, cancel: async () => undefined },
    }
  }
}
