/**
 * A `fetch` whose error answers are read to 64 k characters at most: the SDKs read them whole, however long they are.
 */
import { readStart } from './stream-call.ts'

export type FetchFunction = typeof globalThis.fetch

export function boundedFetch(fetch: FetchFunction): FetchFunction {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.ok || response.body === null) return response
    const text = await readStart(response.body)
    return new Response(text, { status: response.status, headers: response.headers })
  }
}
