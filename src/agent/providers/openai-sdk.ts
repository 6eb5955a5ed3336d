/**
 * The door to the `openai` package, opened at the first call: importing it costs 0.3 s and 35 MB.
 */

import { boundedFetch } from './bounded-fetch.ts'
import type { ProviderOptions } from './options.ts'
import type { OpenCall } from './stream-call.ts'

/** Sends bodies to one path of an OpenAI-compatible API. Nothing is loaded before the first call. */
export function createOpenAiCall(options: ProviderOptions, path: string): OpenCall {
  const load = async () => {
    const { OpenAI } = await import('openai')
    return new OpenAI({
      // The SDK insists on a key; servers on one's own machine often have none, then no header is sent.
      apiKey: options.apiKey || 'none',
      baseURL: options.baseUrl,
      // Not given, these would be read from the process environment.
      organization: null,
      project: null,
      webhookSecret: null,
      adminAPIKey: null,
      logLevel: 'off',
      maxRetries: 0,
      fetch: boundedFetch(options.fetch),
      ...(options.apiKey === '' ? { defaultHeaders: { Authorization: null } } : {}),
    })
  }
  let client: ReturnType<typeof load> | undefined
  return async (wire, { signal, timeoutMs }) => {
    client ??= load()
    const api = await client
    return api
      .post(path, {
        body: wire.body,
        headers: wire.headers,
        query: wire.query,
        signal,
        timeout: timeoutMs,
        // A redirect would turn the request into a GET or carry the key elsewhere.
        fetchOptions: { redirect: 'manual' },
      })
      .asResponse()
  }
}
