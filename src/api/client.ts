/**
 * Requests of clients to the HTTP API of a gateway. A route says what goes in and what comes out.
 */
import type { z } from 'zod'
import { HermesError } from '../lib/errors.ts'
import { readErrorResponse, toUnreachableError } from './client-errors.ts'
import { type ApiFetch, type ApiResponse, httpFetch } from './http-fetch.ts'
import type { ParamNames, RouteContract } from './route.ts'

/** A gateway and its token. */
interface ApiAddress {
  /** `http://127.0.0.1:8642` */
  readonly url: string
  readonly token: string
}

/** What calls routes. */
export interface RouteAccess extends ApiAddress {
  /** Default: `httpFetch`. */
  readonly fetch?: ApiFetch | undefined
}

/** What calls routes, and reads answers while they come. */
export interface ApiAccess extends ApiAddress {
  /** Default: that of Node. */
  readonly fetch?: typeof fetch | undefined
}

export interface ApiCall {
  /** Default: POST with a body, GET without one. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE' | undefined
  /** Objects are sent as JSON. */
  readonly body?: Blob | object | undefined
  readonly signal?: AbortSignal | undefined
}

/** What a client gives to a route. */
export type RouteInput<Path extends string, Query extends z.ZodType, Body extends z.ZodType | 'bytes'> = {
  /** Members without a value are left out. */
  readonly query?: z.input<Query> | undefined
  readonly signal?: AbortSignal | undefined
} & ([ParamNames<Path>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: Readonly<Record<ParamNames<Path>, string>> }) &
  (Body extends 'bytes'
    ? { readonly body: Blob }
    : Body extends z.ZodUndefined
      ? { readonly body?: undefined }
      : { readonly body: z.input<Body> & object })

/** Rejects like `sendRequest`, and `cli/incompatible-response`. Members that the shape does not have are ignored. */
export async function callRoute<
  Path extends string,
  Query extends z.ZodType,
  Body extends z.ZodType | 'bytes',
  Answer extends z.ZodType,
>(
  access: RouteAccess,
  route: RouteContract<Path, Query, Body, Answer>,
  input: RouteInput<Path, Query, Body>,
): Promise<z.output<Answer>> {
  const { path, call } = requestOf(route, input)
  const response = await send(access, access.fetch ?? httpFetch, path, call)
  return readAnswer(route.response, JSON.parse(await response.text()))
}

/** Resolves with the response as it comes, for the content of a file. Rejects like `sendRequest`. */
export async function openRoute<Path extends string, Query extends z.ZodType, Body extends z.ZodType | 'bytes'>(
  access: ApiAccess,
  route: RouteContract<Path, Query, Body>,
  input: RouteInput<Path, Query, Body>,
): Promise<Response> {
  const { path, call } = requestOf(route, input)
  return await sendRequest(access, path, call)
}

function requestOf<Path extends string, Query extends z.ZodType, Body extends z.ZodType | 'bytes'>(
  { method, path }: RouteContract<Path, Query, Body>,
  { params, query, body, signal }: RouteInput<Path, Query, Body>,
) {
  return { path: addressOf(path, { ...params }, { ...asObject(query) }), call: { method, body, signal } }
}

/** Throws `cli/incompatible-response`. */
export function readAnswer<Shape extends z.ZodType>(shape: Shape, answer: unknown): z.output<Shape> {
  const parsed = shape.safeParse(answer)
  if (parsed.success) return parsed.data
  throw new HermesError('cli/incompatible-response', '', { cause: parsed.error })
}

function asObject(query: unknown): object {
  return typeof query === 'object' && query !== null ? query : {}
}

function addressOf(path: string, params: Readonly<Record<string, string>>, query: object): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? filled : `${filled}?${search}`
}

/** Rejects `cli/no-daemon`, also when the time of the signal is over; the gateway's error; and when the signal aborts. */
export async function sendRequest(access: ApiAccess, path: string, call: ApiCall = {}): Promise<Response> {
  return await send<Response>(access, access.fetch ?? fetch, path, call)
}

async function send<Answer extends ApiResponse>(
  { url, token }: ApiAddress,
  fetch: ApiFetch<Answer>,
  path: string,
  { body, signal, method = body === undefined ? 'GET' : 'POST' }: ApiCall,
): Promise<Answer> {
  const type = body instanceof Blob ? 'application/octet-stream' : 'application/json'
  const headers = { authorization: `Bearer ${token}`, 'content-type': type }
  const content = body instanceof Blob ? body : body === undefined ? null : JSON.stringify(body)
  let response: Answer
  try {
    response = await fetch(new URL(path, url), { method, headers, signal: signal ?? null, body: content })
  } catch (error) {
    if (error instanceof HermesError) throw error
    if (signal?.aborted === true && !isTimeout(signal.reason)) throw error
    throw toUnreachableError(error)
  }
  if (!response.ok) throw await readErrorResponse(response)
  return response
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError'
}
