/**
 * Asks a server which models it has: `GET /models` of OpenAI and of Anthropic, which nearly all servers follow. Loaded when a
 * person chooses a model.
 */

import { asRecord, isRecord, parseJson } from '../../lib/json.ts'
import { readLimited } from '../../lib/read-limited.ts'
import { catalogue } from './catalogue.ts'
import { failureToModelError, mapProviderError, parseProviderFailure } from './map-provider-error.ts'
import { ModelError } from './provider.ts'
import type { ProviderChoice } from './resolve-provider.ts'
import { type FetchFunction, httpFetch } from './transport.ts'

export interface ListedModel {
  readonly id: string
  /** The window in tokens, if the server says it. */
  readonly contextLength?: number
}

export interface ListModelsOptions {
  /** '' for a server without authentication. */
  readonly apiKey: string
  /** ms */
  readonly timeoutMs: number
  readonly fetch?: FetchFunction | undefined
}

const maxBytes = 8 * 1024 * 1024
const maxModels = 5_000

/**
 * The models that can hold a conversation, in the order of the server. Rejects `ModelError`: `timeout` when the server does not
 * answer in time, `bad-response` when it answers something else than a list, `invalid-request` when it has no such list.
 */
export async function listModels(
  choice: Pick<ProviderChoice, 'apiMode' | 'baseUrl' | 'server'>,
  { apiKey, timeoutMs, fetch = httpFetch }: ListModelsOptions,
): Promise<readonly ListedModel[]> {
  const { host } = new URL(choice.baseUrl)
  const ownHeaders = choice.server?.extra_headers ?? {}
  const context = { host, secrets: [apiKey, ...Object.values(ownHeaders)], now: Date.now }
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const headers = new Headers(headersFor(choice, apiKey))
    for (const [name, value] of Object.entries(ownHeaders)) headers.set(name, value)
    const response = await fetch(listAddress(choice), { headers, signal })
    const text = await readText(response, host)
    if (!response.ok) throw failureToModelError(parseProviderFailure(parseJson(text) ?? text, response.status), context)
    return parseList(parseJson(text), host)
  } catch (error) {
    if (signal.aborted) throw new ModelError('timeout', `${host} did not answer within ${timeoutMs / 1_000} seconds.`)
    throw mapProviderError(error, context)
  }
}

function listAddress({ apiMode, baseUrl }: Pick<ProviderChoice, 'apiMode' | 'baseUrl'>): string {
  return apiMode === 'anthropic_messages' ? `${baseUrl}/v1/models?limit=1000` : `${baseUrl}/models`
}

function headersFor(
  { apiMode, baseUrl }: Pick<ProviderChoice, 'apiMode' | 'baseUrl'>,
  apiKey: string,
): Record<string, string> {
  const isAnthropic = apiMode === 'anthropic_messages'
  const general = { accept: 'application/json', ...(isAnthropic ? { 'anthropic-version': '2023-06-01' } : {}) }
  if (apiKey === '') return general
  const bearer = { authorization: `Bearer ${apiKey}` }
  if (!isAnthropic) return { ...general, ...bearer }
  // Compatible servers expect one or the other.
  const isVendor = baseUrl === catalogue.anthropic.baseUrl
  return { ...general, 'x-api-key': apiKey, ...(isVendor ? {} : bearer) }
}

async function readText({ body }: Response, host: string): Promise<string> {
  const bytes = await readLimited(body, maxBytes)
  if (bytes === undefined) throw new ModelError('bad-response', `The list of models of ${host} is too long.`)
  return new TextDecoder().decode(bytes)
}

/** `{data: [{id}]}`, or the list alone. */
function parseList(value: unknown, host: string): ListedModel[] {
  const list = Array.isArray(value) ? value : asRecord(value)['data']
  if (!Array.isArray(list))
    throw new ModelError('bad-response', `${host} answered with something else than a list of models.`)
  const seen = new Set<string>()
  return list.slice(0, maxModels).flatMap((entry: unknown) => {
    const model = toModel(entry)
    if (model === undefined || seen.has(model.id) || holdsNoConversation.test(model.id)) return []
    seen.add(model.id)
    return [model]
  })
}

function toModel(entry: unknown): ListedModel | undefined {
  if (!isRecord(entry) || typeof entry['id'] !== 'string') return undefined
  // Gemini: models/gemini-3-pro.
  const id = entry['id'].replace(/^models\//, '').trim()
  if (!/^[\x21-\x7e]{1,200}$/.test(id)) return undefined
  const contextLength = windowFields.map((field) => entry[field]).find(isWindow)
  return contextLength === undefined ? { id } : { id, contextLength }
}

/** OpenRouter, vLLM, Groq, Anthropic, LM Studio and llama.cpp use these fields. */
const windowFields = [
  'context_length',
  'max_model_len',
  'context_window',
  'max_input_tokens',
  'loaded_context_length',
  'max_context_length',
]

function isWindow(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1_000 && value <= 100_000_000
}

/** Models for other work, which some servers list among the others. */
const holdsNoConversation =
  /(?:^|[/_.-])(?:text-embedding|embed(?:ding)?s?|rerank(?:er)?|whisper|tts|dall-e|moderation|transcribe|gpt-image|sora)(?:[/_.-]|\d|$)/i
