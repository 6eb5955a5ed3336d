/**
 * The door to the `@anthropic-ai/sdk` package, opened at the first call: importing it costs 0.3 s and 26 MB.
 */
import { limitErrorBody } from '../limit-error-body.ts'
import type { ProviderOptions } from '../provider-options.ts'
import type { ModelTransport } from '../stream-response.ts'

export const ANTHROPIC_URL = 'https://api.anthropic.com'

/** Sends bodies to the Messages API. Nothing is loaded before the first call. */
export function createAnthropicTransport(options: ProviderOptions): ModelTransport {
  const load = async () => {
    const { Anthropic } = await import('@anthropic-ai/sdk')
    return new Anthropic({
      // Without a key the SDK would look for one in the environment and in files; then no header is sent at all.
      apiKey: options.apiKey || 'none',
      authToken: null,
      webhookKey: null,
      openTelemetry: false,
      baseURL: options.baseUrl,
      logLevel: 'off',
      maxRetries: 0,
      fetch: limitErrorBody(options.fetch),
      defaultHeaders: headersFor(options),
    })
  }
  let client: ReturnType<typeof load> | undefined
  return async (wire, { signal, timeoutMs }) => {
    client ??= load()
    const api = await client
    // Not `messages.create`: it takes fields out of the body and writes warnings to the console.
    return api
      .post('/v1/messages', {
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

/** The SDK sends the key as a bearer token; servers that imitate the API mostly look for the older header. */
function headersFor(options: ProviderOptions): Record<string, string | null> {
  if (options.apiKey === '') return { Authorization: null }
  return options.baseUrl === ANTHROPIC_URL ? {} : { 'X-Api-Key': options.apiKey }
}
