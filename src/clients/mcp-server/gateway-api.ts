/**
 * The JSON API of the gateway, as the MCP server uses it: over HTTP in a process of its own, or directly within the gateway.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'

export interface GatewayApi {
  /**
   * Sends a request with the token of the gateway. `path` begins with `/api/`. Rejects `cli/no-daemon` when no gateway answers, and
   * when the signal aborts.
   */
  fetch(path: string, init: ApiRequestInit): Promise<Response>
  /** Whether `fetch` reaches a gateway that may stop and start again. */
  readonly isRemote: boolean
}

export interface ApiRequestInit {
  readonly method?: 'GET' | 'POST'
  /** Sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
}

/** What the gateway answered instead of a result. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: string
  readonly hint: string
  constructor(code: string, message: string, hint: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

const errorSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().default('') }),
})

/** Rejects `ApiError` with what the gateway has answered, and as `GatewayApi.fetch`. */
export async function callApi<Shape extends z.ZodType>(
  api: GatewayApi,
  path: string,
  shape: Shape,
  init: ApiRequestInit,
): Promise<z.output<Shape>> {
  const response = await sendTo(api, path, init)
  const parsed = shape.safeParse(await response.json())
  if (parsed.success) return parsed.data
  throw new ApiError('cli/incompatible-response', 'The gateway answers in another form: it has another version.', '')
}

/** Sends like `callApi`, for a response that is not JSON. */
export async function sendTo(api: GatewayApi, path: string, init: ApiRequestInit): Promise<Response> {
  let response: Response
  try {
    response = await api.fetch(path, init)
  } catch (error) {
    if (error instanceof HermesError) throw toApiError(error)
    throw error
  }
  if (response.ok) return response
  const parsed = errorSchema.safeParse(await response.json().catch(() => undefined))
  if (!parsed.success) throw new ApiError('cli/failed', `The gateway responded with status ${response.status}.`, '')
  const { code, message, hint } = parsed.data.error
  throw new ApiError(code, message, hint)
}

export function toApiError({ code, message, hint }: HermesError): ApiError {
  return new ApiError(code, message, hint)
}

/** A path with a query string; members without a value are left out. */
export function withQuery(path: string, values: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? path : `${path}?${query}`
}
