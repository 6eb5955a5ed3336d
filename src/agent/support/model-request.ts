/**
 * What is sent to a provider.
 */

/**
 * The request of one attempt: exactly what goes over the wire as JSON, except for the four transport keys:
 * `extra_body` is merged into the body, `extra_headers` and `extra_query` are sent as such, `timeout` is in seconds.
 */
export interface ModelRequest {
  readonly model: string
  readonly stream: true
  readonly extra_body?: Readonly<Record<string, unknown>>
  readonly extra_headers?: Readonly<Record<string, string>>
  readonly extra_query?: Readonly<Record<string, string>>
  readonly timeout?: number
  readonly [key: string]: unknown
}
