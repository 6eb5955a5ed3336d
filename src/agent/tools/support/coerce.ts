/**
 * Mends the small mistakes models make with arguments: "5" for 5, "true" for true, a list written as a JSON string.
 * Guided by the JSON Schema, so that it works for every tool; what is not obvious is left for the parser to refuse.
 */

import { isRecord } from '../../../lib/json.ts'
import type { JsonObject } from '../../models/provider.ts'

export interface CoercionResult {
  readonly value: unknown
  /** Names that the schema does not know, as paths: `limit`, `todos.0.prio`. */
  readonly unknownKeys: readonly string[]
}

export function coerce(value: unknown, schema: JsonObject): CoercionResult {
  const unknownKeys: string[] = []
  return { value: coerceValue(value, schema, '', unknownKeys), unknownKeys }
}

function coerceValue(value: unknown, schema: JsonObject, path: string, unknownKeys: string[]): unknown {
  const types = typesOf(schema)
  const fitting = types.length === 0 || types.includes(typeName(value)) ? value : convertValue(value, types)
  if (Array.isArray(fitting)) {
    const { items } = schema
    return isRecord(items) ? fitting.map((item, at) => coerceValue(item, items, join(path, at), unknownKeys)) : fitting
  }
  return isRecord(fitting) ? coerceObject(fitting, schema, path, unknownKeys) : fitting
}

function coerceObject(value: JsonObject, schema: JsonObject, path: string, unknownKeys: string[]): unknown {
  const { properties, required } = schema
  if (!isRecord(properties)) return value
  const extra = isRecord(schema['additionalProperties']) || schema['additionalProperties'] === true
  const entries: [string, unknown][] = []
  for (const [key, inner] of Object.entries(value)) {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (known === undefined && !extra) unknownKeys.push(join(path, key))
    // Null stands for "not given" where an argument may be left out.
    else if (inner === null && isRecord(known) && !allowsNull(known) && !isRequired(required, key)) continue
    else entries.push([key, isRecord(known) ? coerceValue(inner, known, join(path, key), unknownKeys) : inner])
  }
  return Object.fromEntries(entries)
}

const join = (path: string, key: string | number) => (path === '' ? String(key) : `${path}.${key}`)
const isRequired = (required: unknown, key: string) => Array.isArray(required) && required.includes(key)
const allowsNull = (schema: JsonObject) => typesOf(schema).includes('null') || schema['anyOf'] !== undefined

function typesOf({ type }: JsonObject): string[] {
  if (typeof type === 'string') return type === 'integer' ? ['number'] : [type]
  return Array.isArray(type) ? type.map((one) => (one === 'integer' ? 'number' : String(one))) : []
}

export function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function convertValue(value: unknown, types: readonly string[]): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return types.includes('string') ? String(value) : value
  if (typeof value !== 'string') return value
  const text = value.trim()
  if (types.includes('number') && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return Number(text)
  if (types.includes('boolean') && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  if ((types.includes('array') && text.startsWith('[')) || (types.includes('object') && text.startsWith('{'))) {
    try {
      return JSON.parse(text)
    } catch {
      // Not JSON after all: the parser says what it expected.
      return value
    }
  }
  return value
}
