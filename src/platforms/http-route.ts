/**
 * An HTTP route of a platform, and its description in the OpenAPI document.
 */
/** An HTTP route of a platform, with the web standard types `Request` and `Response`. */
export interface HttpRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** An exact path, one with variable segments (`/v1/runs/{run_id}`), or one ending in `/*`. */
  readonly path: string
  /**
   * `token`: only with the gateway's bearer token. `public`: for pages without secrets.
   * `own`: the adapter verifies the platform's signature (webhooks).
   */
  readonly access: 'token' | 'public' | 'own'
  /** May throw: the server responds with 500 and logs the error. `request.signal` aborts when the client disconnects. */
  handle(request: Request): Promise<Response> | Response
  /** For `GET /api/openapi.json`; a route without it is not a public API. Called with the first request for the document. */
  describe?(): Promise<readonly RouteDescription[]>
}

/** What a route takes and returns, for the OpenAPI document. */
export interface RouteDescription {
  readonly method: HttpRoute['method']
  /** With the names of its variable parts: `/v1/runs/{run_id}`. */
  readonly path: string
  readonly access: HttpRoute['access']
  /** One sentence. */
  readonly summary: string
  /** The group in which it is shown. */
  readonly tag: string
  /** The schema of an object: one property for each parameter of the query string. */
  readonly query?: JsonSchema
  readonly body?: JsonSchema
  /** Default: `application/json`. */
  readonly bodyType?: string
  /** By status; those of errors are added. */
  readonly responses: Readonly<Record<number, ResponseDescription>>
}

export interface ResponseDescription {
  readonly description: string
  readonly schema?: JsonSchema
  /** Default: `application/json`. */
  readonly contentType?: string
  /** Whether it also comes as a stream of server-sent events. */
  readonly events?: boolean
}

/** JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>
