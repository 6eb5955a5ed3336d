/**
 * The JSON Schema of a tool's arguments, as short as it can be: every byte of it is sent with every model call.
 */
import { z } from 'zod'
import { isRecord } from '../../../lib/record.ts'
import type { JsonObject } from '../../provider.ts'

/** Same type, same bytes. Throws when the type cannot be said in JSON Schema. */
export function toJsonSchema(parameters: z.ZodType): JsonObject {
  const schema = strip(z.toJSONSchema(parameters, { io: 'input' }))
  return isRecord(schema) ? schema : { type: 'object', properties: {} }
}

/** What says nothing to a model: the dialect, and the limits of JavaScript's own integers. */
function isNoise(key: string, value: unknown): boolean {
  if (key === '$schema') return true
  if (key === 'additionalProperties') return value === false || (isRecord(value) && Object.keys(value).length === 0)
  return (key === 'minimum' || key === 'maximum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
}

function strip(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => strip(item))
  if (!isRecord(value)) return value
  const kept = Object.entries(value).filter(([key, inner]) => isMap || !isNoise(key, inner))
  // Below `properties` the keys are names of arguments, whatever they look like.
  return Object.fromEntries(kept.map(([key, inner]) => [key, strip(inner, !isMap && key === 'properties')]))
}
