/**
 * Parses what a client has sent, by the shapes that the OpenAPI document shows.
 */
import type { z } from 'zod'

/** A request of the JSON API. */
export interface ApiRequest {
  readonly method: string
  /** What follows the name of the resource, decoded. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
  /** Rejects `http/bad-request`. */
  body<Shape extends z.ZodType>(shape: Shape): Promise<z.output<Shape>>
  readonly signal: AbortSignal
}
