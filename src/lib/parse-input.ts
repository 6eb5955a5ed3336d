/**
 * Parses what a client has sent, by the shapes that the OpenAPI document shows.
 */
import type { z } from 'zod'
import { HermesError } from './errors.ts'
import { readShape } from './read-shape.ts'

/** Throws `http/bad-request`, which names the field. */
export function parseInput<Shape extends z.ZodType>(shape: Shape, value: unknown): z.output<Shape> {
  const read = readShape(shape, value, 'the request')
  if (read.ok) return read.value
  throw new HermesError('http/bad-request', read.problem)
}
