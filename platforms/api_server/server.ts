/**
 * What the routes of the API share. It exists from the first request on.
 */
import type { PlatformContext } from '#sdk'
import type { PendingRequests } from './pending-requests.ts'
import type { TurnRequests } from './turn-requests.ts'

export interface ApiServerOptions {
  /** Additional requests are refused with a hint to retry. */
  readonly maxConcurrent: number
  /** Further runs are refused with a hint to retry. */
  readonly maxRuns: number
  readonly keepAliveMs: number
}

export interface ApiServer {
  readonly context: PlatformContext
  readonly options: ApiServerOptions
  /** Seconds since 1970: of the list of models. */
  readonly created: number
  readonly waiting: PendingRequests
  readonly turns: TurnRequests
  /** Aborts when the gateway stops. Its runs continue after the next start. */
  readonly closed: AbortSignal
  /** The code of runs is loaded with the first one. */
  runs(): Promise<Runs>
}

/** All throw `ApiError` and errors of the gateway. */
export interface Runs {
  /** `POST /v1/runs`. */
  create(request: Request): Promise<Response>
  /** `GET /v1/runs`. */
  list(request: Request): Promise<Response>
  /** `GET /v1/runs/{id}` and `GET /v1/runs/{id}/events`. */
  get(request: Request): Promise<Response>
  /** `POST /v1/runs/{id}/stop`, `/cancel`, `/approval` and `/clarify`. */
  act(request: Request): Promise<Response>
}
