/**
 * Calls the parts of OpenAI's API that are no conversations: transcription, speech and pictures. Servers that are compatible with
 * it answer, too. Loaded with the first call.
 */
import { type ClientOptions, OpenAI } from 'openai'
import { asRecord, asString } from '../../../lib/json.ts'
import { readPrefix } from '../http-post.ts'
import { mapProviderError } from '../map-provider-error.ts'
import { ModelError } from '../provider.ts'
import type { FetchFunction } from '../transport.ts'
import { uploadFetch } from '../upload-fetch.ts'

export interface MediaServer {
  /** Without a trailing slash. */
  readonly baseUrl: string
  /** '' for a server without authentication. */
  readonly apiKey: string
  /** ms */
  readonly timeoutMs: number
  /** ms since 1970 */
  readonly now: () => number
}

export interface MediaClient {
  /** `language`: '' to recognise it. Resolves with what was said. */
  transcribe(
    request: { readonly file: File; readonly model: string; readonly language: string },
    signal: AbortSignal,
  ): Promise<string>
  /** Resolves with sound: Ogg with Opus, where the server can. */
  speak(
    request: { readonly text: string; readonly model: string; readonly voice: string; readonly speed: number },
    signal: AbortSignal,
  ): Promise<Uint8Array>
  /** Resolves with a picture, or with the address of one. */
  draw(
    request: { readonly prompt: string; readonly model: string; readonly size: string },
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Uint8Array } | { readonly url: string }>
}

/** Limits one answer: a picture is sent as text. */
const maxAnswerBytes = 64 * 1_048_576

/** Each method rejects with `ModelError`, or with the reason of the signal. */
export function createMediaClient({ baseUrl, apiKey, timeoutMs, now }: MediaServer): MediaClient {
  const client = new OpenAI({
    ...createClientOptions(baseUrl, apiKey, limitBody(uploadFetch)),
    timeout: timeoutMs,
  })
  const context = { host: new URL(baseUrl).host, secrets: [apiKey], now }

  async function call<T>(signal: AbortSignal, send: (options: CallOptions) => Promise<T>): Promise<T> {
    try {
      return await send({ signal, fetchOptions: { redirect: 'manual' } })
    } catch (error) {
      signal.throwIfAborted()
      // The SDK says so without a status or a system error.
      if (error instanceof OpenAI.APIConnectionTimeoutError)
        throw new ModelError('timeout', `${context.host} did not answer within ${timeoutMs / 1_000} s.`)
      throw mapProviderError(error, context)
    }
  }

  return {
    transcribe: ({ file, model, language }, signal) =>
      call(signal, async (options) => {
        const request = { file, model, response_format: 'json' as const, ...(language === '' ? {} : { language }) }
        // Some servers answer with plain text all the same.
        const answer: unknown = await client.audio.transcriptions.create(request, options)
        return (typeof answer === 'string' ? answer : asString(asRecord(answer)['text'])).trim()
      }),
    speak: ({ text, model, voice, speed }, signal) =>
      call(signal, async (options) => {
        const request = { input: text, model, voice, response_format: 'opus' as const }
        const answer = await client.audio.speech.create(speed === 1 ? request : { ...request, speed }, options)
        return await answer.bytes()
      }),
    draw: ({ prompt, model, size }, signal) =>
      call(signal, async (options) => {
        const answer: unknown = await client.images.generate({ prompt, model, size, n: 1 }, options)
        const { data } = asRecord(answer)
        const first = asRecord(Array.isArray(data) ? data[0] : undefined)
        const encoded = asString(first['b64_json'])
        if (encoded !== '') return { bytes: Buffer.from(encoded, 'base64') }
        const url = asString(first['url'])
        if (url === '') throw new ModelError('bad-response', `${context.host} answered without a picture.`)
        return { url }
      }),
  }
}

interface CallOptions {
  readonly signal: AbortSignal
  readonly fetchOptions: { readonly redirect: 'manual' }
}

/** The SDK reads an answer completely, whatever its length. */
function limitBody(fetch: FetchFunction): FetchFunction {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.body === null) return response
    let bytes = 0
    const limited = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.length
          if (bytes <= maxAnswerBytes) controller.enqueue(chunk)
          else controller.error(new ModelError('bad-response', 'The answer is too long.'))
        },
      }),
    )
    return new Response(limited, { status: response.status, headers: response.headers })
  }
}

/** @param apiKey '' for a server without authentication */
function createClientOptions(baseURL: string, apiKey: string, fetch: FetchFunction): ClientOptions {
  return {
    baseURL,
    // The SDK requires a key. A local server often has none; then no header is sent.
    apiKey: apiKey || 'none',
    defaultHeaders: apiKey === '' ? { Authorization: null } : undefined,
    // When omitted, these are read from the process environment.
    organization: null,
    project: null,
    webhookSecret: null,
    adminAPIKey: null,
    logLevel: 'off',
    // The caller repeats a call, perhaps with another key.
    maxRetries: 0,
    fetch: limitErrorBody(fetch),
  }
}

/** A `fetch` that limits the body of an error response. The SDK reads such a body completely, whatever its length. */
function limitErrorBody(fetch: FetchFunction): FetchFunction {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.ok || response.body === null) return response
    const text = await readPrefix(response.body.getReader())
    return new Response(text, { status: response.status, headers: response.headers })
  }
}
