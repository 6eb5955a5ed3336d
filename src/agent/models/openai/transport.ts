/**
 * The door to the `openai` package, opened at the first call: importing it costs 0.3 s and 35 MB.
 */

import { limitErrorBody } from '../limit-error-body.ts'
import type { ProviderOptions } from '../provider-options.ts'
import type { ModelTransport } from '../stream-response.ts'

/** Sends bodies to one path of an OpenAI-compatible API. Nothing is loaded before the first call. */
export function createOpenAiTransport(options: ProviderOptions, path: string): ModelTransport {
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
      fetch: limitErrorBody(options.fetch),
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
