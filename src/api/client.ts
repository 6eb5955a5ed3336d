/**
 * Requests of the commands to the HTTP API of a gateway.
 */
import type { z } from 'zod'
import { HermesError } from '../lib/errors.ts'
import { readErrorResponse, toUnreachableError } from './client-errors.ts'

/** A gateway and its token. */
export interface ApiAccess {
  /** `http://127.0.0.1:8642` */
  readonly url: string
  readonly token: string
  /** Default: that of Node. */
  readonly fetch?: typeof fetch
}

export interface ApiCall {
  /** Default: POST with a body, GET without one. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Objects are sent as JSON. */
  readonly body?: Blob | object | undefined
  readonly signal?: AbortSignal | undefined
}

/** Rejects `cli/no-daemon`, also when the time of the signal is over; the gateway's error; and when the signal aborts. */
export async function sendRequest(access: ApiAccess, path: string, call: ApiCall = {}): Promise<Response> {
  const { body, signal = null, method = body === undefined ? 'GET' : 'POST' } = call
  const type = body instanceof Blob ? 'application/octet-stream' : 'application/json'
  const headers = { authorization: `Bearer ${access.token}`, 'content-type': type }
  const sent = body === undefined || body instanceof Blob ? body : JSON.stringify(body)
  const payload = sent === undefined ? {} : { body: sent }
  let response: Response
  try {
    response = await (access.fetch ?? fetch)(new URL(path, access.url), { method, headers, signal, ...payload })
  } catch (error) {
    if (signal?.aborted === true && !isTimeout(signal.reason)) throw error
    throw toUnreachableError(error)
  }
  if (!response.ok) throw await readErrorResponse(response)
  return response
}

/**
 * Works like `sendRequest`, and rejects `cli/incompatible-response`. Members that the shape does not have are
 * ignored.
 */
export async function callApi<Shape extends z.ZodType>(
  access: ApiAccess,
  path: string,
  shape: Shape,
  call?: ApiCall,
): Promise<z.output<Shape>> {
  const response = await sendRequest(access, path, call)
  const parsed = shape.safeParse(await response.json())
  if (parsed.success) return parsed.data
  throw new HermesError('cli/incompatible-response', '', { cause: parsed.error })
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError'
}
