/**
 * Draws pictures with FAL (contract agent.md S9): one request that answers with the address of the picture.
 */
import { asRecord, asString, parseJson } from '../../lib/json.ts'
import { readPrefix } from '../models/http-post.ts'
import { failureToModelError, mapProviderError, parseProviderFailure } from '../models/map-provider-error.ts'
import { ModelError } from '../models/provider.ts'
import { httpFetch } from '../models/transport.ts'
import { callServer } from './call-server.ts'
import { MediaProviderError } from './media-provider-error.ts'

export interface FalRequest {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly key: string
  /** The name of the model, which is the path of the request. */
  readonly model: string
  readonly prompt: string
  readonly shape: 'landscape' | 'square' | 'portrait'
  /** ms */
  readonly timeoutMs: number
  /** ms since 1970 */
  readonly now: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

const sizes = { landscape: 'landscape_16_9', square: 'square_hd', portrait: 'portrait_16_9' } as const

/** Rejects with `MediaProviderError`, or with the reason of the signal. */
export async function drawWithFal(request: FalRequest, signal: AbortSignal): Promise<{ readonly url: string }> {
  const { baseUrl, key, sleep } = request
  const keys = { baseUrl: () => baseUrl, secret: () => key, rotate: () => false, succeeded: () => undefined }
  const answer = await callServer({ keys, sleep, signal }, () => post(request, signal))
  const { images, has_nsfw_concepts: flags } = asRecord(answer)
  // The picture is black then.
  if (Array.isArray(flags) && flags.includes(true))
    throw new MediaProviderError('refused', 'the provider refuses it because of its rules for content')
  const url = asString(asRecord(Array.isArray(images) ? images[0] : undefined)['url'])
  if (url === '') throw new MediaProviderError('bad-result', 'the provider answered without a picture')
  return { url }
}

async function post({ baseUrl, key, model, prompt, shape, timeoutMs, now }: FalRequest, signal: AbortSignal) {
  const timeout = AbortSignal.timeout(timeoutMs)
  const context = { host: URL.parse(baseUrl)?.host ?? baseUrl, secrets: [key], now }
  try {
    const response = await httpFetch(`${baseUrl}/${model}`, {
      method: 'POST',
      headers: { authorization: `Key ${key}`, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ prompt, image_size: sizes[shape], num_images: 1 }),
      signal: AbortSignal.any([signal, timeout]),
    })
    const text = response.body === null ? '' : await readPrefix(response.body.getReader())
    if (response.status >= 300) throw failureToModelError(readFailure(text, response.status), context)
    const answer: unknown = JSON.parse(text)
    return answer
  } catch (error) {
    signal.throwIfAborted()
    if (timeout.aborted)
      throw new ModelError('timeout', `${context.host} did not answer within ${timeoutMs / 1_000} s.`)
    if (error instanceof SyntaxError) throw new ModelError('bad-response', `${context.host} did not answer with JSON.`)
    throw mapProviderError(error, context)
  }
}

function readFailure(text: string, status: number) {
  // The page of a proxy is no JSON.
  return parseProviderFailure(parseJson(text) ?? text, status)
}
