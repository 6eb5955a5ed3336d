/**
 * From the text a model wrote to the typed arguments of a tool, or to a message it can learn from.
 */
import type { z } from 'zod'
import { messageOf } from '../../../lib/errors.ts'
import { isRecord } from '../../../lib/json.ts'
import type { JsonObject } from '../../models/provider.ts'
import { coerce, typeName } from './coerce.ts'

export type ParsedArguments<Output> =
  | {
      readonly ok: true
      /** Typed, as the tool gets them. */
      readonly args: Output
      /** The same before they were typed: mended, without unknown keys, and good to be read once more. */
      readonly jsonArguments: JsonObject
      readonly warnings: readonly string[]
    }
  | { readonly ok: false; readonly error: string }

export type DecodedArguments =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly error: string }

const maxChars = 4 * 1024 * 1024
const maxDepth = 64

/** Reads the JSON text; an empty one is an object without keys. Never throws. */
export function decodeArguments(name: string, text: string): DecodedArguments {
  if (text.trim() === '') return { ok: true, value: {} }
  if (text.length > maxChars) {
    return {
      ok: false,
      error: `The arguments of ${name} are too long: ${text.length} characters, ${maxChars} at most.`,
    }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
    // Some models encode twice.
    if (typeof value === 'string') value = JSON.parse(value)
  } catch (error) {
    return {
      ok: false,
      error: `The arguments of ${name} are not valid JSON: ${messageOf(error)}. Send one JSON object.`,
    }
  }
  if (!isRecord(value)) {
    return { ok: false, error: `The arguments of ${name} must be one JSON object, not ${typeName(value)}.` }
  }
  if (exceedsDepth(value, maxDepth)) {
    return { ok: false, error: `The arguments of ${name} are nested more than ${maxDepth} levels deep.` }
  }
  return { ok: true, value }
}

/** Mends, checks and types decoded arguments. Throws only what the schema's own refinements throw. */
export function parseArguments<Schema extends z.ZodType>(
  name: string,
  value: JsonObject,
  schema: Schema,
  jsonSchema: JsonObject,
): ParsedArguments<z.output<Schema>> {
  const coerced = coerce(value, jsonSchema)
  const parsed = schema.safeParse(coerced.value)
  if (parsed.success) {
    const warnings = coerced.unknownKeys.map((key) => `${name} has no argument ${key}; it was ignored`)
    return { ok: true, args: parsed.data, jsonArguments: isRecord(coerced.value) ? coerced.value : value, warnings }
  }
  const problems = parsed.error.issues.slice(0, 5).map((issue) => {
    const where = issue.path.join('.')
    const found = valueAt(coerced.value, issue.path)
    const what = found === undefined ? 'nothing' : truncate(JSON.stringify(found))
    return `${where === '' ? 'arguments' : where}: ${issue.message}, found ${what}`
  })
  const ignored = coerced.unknownKeys.length > 0 ? ` Unknown: ${coerced.unknownKeys.join(', ')}.` : ''
  const error = `Wrong arguments for ${name}. ${problems.join('; ')}.${ignored} Expected ${describeSchema(jsonSchema)}.`
  return { ok: false, error: truncate(error, 2_000) }
}

function exceedsDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((inner) => exceedsDepth(inner, depth - 1))
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = Object.getOwnPropertyDescriptor(found, key)?.value
  }
  return found
}

function truncate(text: string, max = 80): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}

/** `{path: string, offset?: integer}`. */
function describeSchema({ properties, required }: JsonObject): string {
  if (!isRecord(properties)) return 'an object'
  const names = Object.entries(properties).map(([key, schema]) => {
    const optional = Array.isArray(required) && required.includes(key) ? '' : '?'
    return `${key}${optional}: ${describeType(schema)}`
  })
  return `{${names.join(', ')}}`
}

function describeType(schema: unknown): string {
  if (!isRecord(schema)) return 'any'
  const { type, enum: choices, items } = schema
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(' | ')
  if (type === 'array') return `[${describeType(items)}]`
  if (type === 'object') return describeSchema(schema)
  return typeof type === 'string' ? type : 'any'
}
