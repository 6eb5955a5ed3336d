/**
 * Calls a search service. Its address is fixed or configured by the operator, so it may be on the own network.
 */
import { z } from 'zod'
import { CodedError, systemCode } from '../lib/errors.ts'
import { readLimited } from '../lib/read-limited.ts'
import type { ChosenService } from './choose-service.ts'
import type { ExtractedPage, SearchHit, ServiceRequest } from './services.ts'

/** The message is for the model, and for the log. */
export class WebError extends CodedError {}

const timeoutMs = 30_000
const maxResponseBytes = 10 * 1_048_576

/** Rejects with `WebError`, or with the signal's reason. */
export async function searchBy(
  chosen: ChosenService,
  query: string,
  limit: number,
  signal: AbortSignal,
): Promise<readonly SearchHit[]> {
  const { service, key } = chosen
  const hits = await call(chosen, service.search(query, limit, key), service.hits, signal)
  return hits.slice(0, limit)
}

/** Rejects with `WebError` when no page could be read, or with the signal's reason. */
export async function extractBy(
  chosen: ChosenService,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<readonly ExtractedPage[]> {
  const { extract } = chosen.service
  if (extract === undefined) throw new WebError('not_supported', `${chosen.service.label} reads no pages.`)
  const requests = extract.request(urls, chosen.key)
  const answered = await Promise.all(
    requests.map(async (request) => {
      try {
        return await call(chosen, request, extract.pages, signal)
      } catch (error) {
        // One page that cannot be read does not hide the others.
        if (requests.length === 1 || !(error instanceof WebError)) throw error
        return [{ url: String(request.body?.['url'] ?? ''), title: '', content: '', error: error.message }]
      }
    }),
  )
  return answered.flat()
}

async function call<T>(
  { service, address }: ChosenService,
  { path, headers, body }: ServiceRequest,
  read: (response: unknown) => T,
  signal: AbortSignal,
): Promise<T> {
  const { label } = service
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(`${address}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        'user-agent': 'hermes-gateway',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // A redirect would send the key to another server.
      redirect: 'error',
      signal: AbortSignal.any([signal, timeout]),
    })
    const bytes = await readLimited(response.body, maxResponseBytes)
    if (!response.ok) throw statusError(label, service.keyVariable, response.status)
    if (bytes === undefined) throw new WebError('bad_response', `${label} sent more than 10 MB.`)
    return read(JSON.parse(new TextDecoder().decode(bytes)))
  } catch (error) {
    signal.throwIfAborted()
    throw toWebError(error, label, timeout.aborted)
  }
}

function statusError(label: string, keyVariable: string | undefined, status: number): WebError {
  if (status === 401 || (status === 403 && keyVariable !== undefined))
    return new WebError('key_refused', `${label} refused the key in ${keyVariable ?? 'its configuration'}.`)
  if (status === 403) return new WebError('refused', `${label} refused: is \`json\` among its \`search.formats\`?`)
  if (status === 402 || status === 429) return new WebError('limited', `${label} permits no more requests now.`)
  return new WebError('service_failed', `${label} responded with status ${status}.`)
}

function toWebError(error: unknown, label: string, isTimeout: boolean): WebError {
  if (error instanceof WebError) return error
  if (isTimeout)
    return new WebError('timeout', `${label} did not respond within ${timeoutMs / 1_000} seconds.`, { cause: error })
  if (error instanceof SyntaxError || error instanceof z.ZodError)
    return new WebError('bad_response', `${label} responded with something else than results.`, { cause: error })
  const cause = error instanceof Error ? error.cause : undefined
  const reason = systemCode(cause) ?? systemCode(error)
  return new WebError('unreachable', `${label} cannot be reached${reason === undefined ? '' : ` (${reason})`}.`, {
    cause: error,
  })
}
