/**
 * The JSON Schema of a tool's arguments, as short as it can be: every byte of it is sent with every model call.
 */
import { z } from 'zod'
import { isRecord } from '../../../lib/json.ts'
import type { JsonObject } from '../../models/provider.ts'

/** Same type, same bytes. Throws when the type cannot be said in JSON Schema. */
export function toJsonSchema(parameters: z.ZodType): JsonObject {
  const schema = stripRedundant(z.toJSONSchema(parameters, { io: 'input' }))
  return isRecord(schema) ? schema : { type: 'object', properties: {} }
}

/** What says nothing to a model: the dialect, and the limits of JavaScript's own integers. */
function isRedundant(key: string, value: unknown): boolean {
  if (key === '$schema') return true
  if (key === 'additionalProperties') return value === false || (isRecord(value) && Object.keys(value).length === 0)
  return (key === 'minimum' || key === 'maximum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
}

function stripRedundant(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => stripRedundant(item))
  if (!isRecord(value)) return value
  const kept = Object.entries(value).filter(([key, inner]) => isMap || !isRedundant(key, inner))
  // Below `properties` the keys are names of arguments, whatever they look like.
  return Object.fromEntries(kept.map(([key, inner]) => [key, stripRedundant(inner, !isMap && key === 'properties')]))
}
