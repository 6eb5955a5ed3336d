/**
 * A `fetch` whose error answers are read to 64 k characters at most: the SDKs read them whole, however long they are.
 */
import { readBodyPrefix } from './stream-response.ts'

export type FetchFunction = typeof globalThis.fetch

export function limitErrorBody(fetch: FetchFunction): FetchFunction {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.ok || response.body === null) return response
    const text = await readBodyPrefix(response.body)
    return new Response(text, { status: response.status, headers: response.headers })
  }
}
