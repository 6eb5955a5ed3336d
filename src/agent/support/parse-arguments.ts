/**
 * Parses the arguments that a model wrote into the typed arguments of a tool, or into an error message for the model.
 */

import { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import { exceedsMaxDepth, isRecord, type JsonObject, parseJson, valueAt } from '../../lib/json.ts'
import { shorten } from '../../lib/visible-text.ts'

export type ParsedArguments<Output> =
  | {
      readonly ok: true
      /** Typed, as the tool receives them. */
      readonly args: Output
      /** The repaired JSON arguments without unknown keys. They can be parsed again. */
      readonly jsonArguments: JsonObject
      readonly warnings: readonly string[]
    }
  | { readonly ok: false; readonly code: 'invalid_arguments'; readonly error: string }

export type ArgumentsErrorCode = 'too_long' | 'invalid_json' | 'not_an_object' | 'too_deep' | 'invalid_arguments'

export type DecodedArguments =
  | { readonly ok: true; readonly value: JsonObject }
  | {
      readonly ok: false
      readonly code: Exclude<ArgumentsErrorCode, 'invalid_arguments'>
      readonly error: string
    }

/** More than models write, and parsed in a few milliseconds. */
const maxChars = 1024 * 1024
const maxDepth = 64

/** Decodes the JSON text; an empty text is an object without keys. Never throws. */
export function decodeArguments(name: string, text: string): DecodedArguments {
  if (text.trim() === '') return { ok: true, value: {} }
  if (text.length > maxChars) {
    return {
      ok: false,
      code: 'too_long',
      error: `The arguments of ${name} are too long: ${text.length} characters, ${maxChars} at most.`,
    }
  }
  if (exceedsMaxDepth(text)) return tooDeep(name)
  let value: unknown
  try {
    value = JSON.parse(text)
    // Some models encode the arguments twice.
    if (typeof value === 'string') value = JSON.parse(value)
  } catch (error) {
    return {
      ok: false,
      code: 'invalid_json',
      error: `The arguments of ${name} are not valid JSON: ${messageOf(error)}. Send one JSON object.`,
    }
  }
  if (!isRecord(value)) {
    return {
      ok: false,
      code: 'not_an_object',
      error: `The arguments of ${name} must be one JSON object, not ${typeName(value)}.`,
    }
  }
  if (exceedsDepth(value, maxDepth)) return tooDeep(name)
  return { ok: true, value }
}

function tooDeep(name: string): DecodedArguments {
  return {
    ok: false,
    code: 'too_deep',
    error: `The arguments of ${name} are nested more than ${maxDepth} levels deep.`,
  }
}

/** Repairs, validates and types decoded arguments. Throws only what refinements of the schema throw. */
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
  const issues = parsed.error.issues.slice(0, 5).map((issue) => {
    const location = issue.path.join('.')
    const current = valueAt(coerced.value, issue.path)
    const actual = current === undefined ? 'nothing' : shorten(JSON.stringify(current), 80)
    return `${location === '' ? 'arguments' : location}: ${issue.message}, found ${actual}`
  })
  const ignored = coerced.unknownKeys.length > 0 ? ` Unknown: ${coerced.unknownKeys.join(', ')}.` : ''
  const error = `Wrong arguments for ${name}. ${issues.join('; ')}.${ignored} Expected ${describeSchema(jsonSchema)}.`
  return { ok: false, code: 'invalid_arguments', error: shorten(error, 2_000) }
}

function exceedsDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((inner) => exceedsDepth(inner, depth - 1))
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

/** Converts obvious mistakes of models: "5" for 5, "true" for true, a list written as a JSON string, null for a missing argument. */
function coerce(value: unknown, schema: JsonObject) {
  /** Paths of keys that the schema does not contain: `limit`, `todos.0.prio`. */
  const unknownKeys: string[] = []
  return { value: coerceValue(value, schema, '', unknownKeys), unknownKeys }
}

function coerceValue(value: unknown, schema: JsonObject, path: string, unknownKeys: string[]): unknown {
  const types = typesOf(schema)
  const converted = types.length === 0 || types.includes(typeName(value)) ? value : convertValue(value, types)
  if (Array.isArray(converted)) {
    const { items } = schema
    return isRecord(items)
      ? converted.map((item, index) => coerceValue(item, items, joinPath(path, index), unknownKeys))
      : converted
  }
  return isRecord(converted) ? coerceObject(converted, schema, path, unknownKeys) : converted
}

function coerceObject(value: JsonObject, schema: JsonObject, path: string, unknownKeys: string[]): unknown {
  const { properties, required } = schema
  if (!isRecord(properties)) return value
  const extra = isRecord(schema['additionalProperties']) || schema['additionalProperties'] === true
  const entries: [string, unknown][] = []
  for (const [key, inner] of Object.entries(value)) {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (known === undefined && !extra) unknownKeys.push(joinPath(path, key))
    // Null means a missing value for an optional argument.
    else if (inner === null && isRecord(known) && !allowsNull(known) && !isRequired(required, key)) continue
    else entries.push([key, isRecord(known) ? coerceValue(inner, known, joinPath(path, key), unknownKeys) : inner])
  }
  return Object.fromEntries(entries)
}

const joinPath = (path: string, key: string | number) => (path === '' ? String(key) : `${path}.${key}`)
const isRequired = (required: unknown, key: string) => Array.isArray(required) && required.includes(key)
const allowsNull = (schema: JsonObject) => typesOf(schema).includes('null') || schema['anyOf'] !== undefined

function typesOf({ type }: JsonObject): string[] {
  if (typeof type === 'string') return type === 'integer' ? ['number'] : [type]
  return Array.isArray(type) ? type.map((item) => (item === 'integer' ? 'number' : String(item))) : []
}

function typeName(value: unknown): string {
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
    // The text may not be JSON; validation reports the expected type.
    return parseJson(text) ?? value
  }
  return value
}

/**
 * Returns a short JSON Schema, because it is sent with every model request. Equal types give equal bytes. Throws when the
 * type has no JSON Schema.
 */
export function toJsonSchema(parameters: z.ZodType): JsonObject {
  const schema = stripRedundant(z.toJSONSchema(parameters, { io: 'input' }))
  return isRecord(schema) ? schema : { type: 'object', properties: {} }
}

/** Keys without information for a model: the dialect, and limits that only a mistake exceeds. The arguments are checked all the same. */
function isRedundant(key: string, value: unknown): boolean {
  if (key === '$schema') return true
  if (key === 'additionalProperties') return value === false || (isRecord(value) && Object.keys(value).length === 0)
  if (key === 'minLength') return value === 1
  if (key === 'maxLength') return Number(value) >= 100
  if (key === 'maxItems') return Number(value) >= 10
  if (key === 'exclusiveMinimum') return value === 0
  if (key === 'minimum' && (value === 0 || value === 1)) return true
  return (key === 'minimum' || key === 'maximum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
}

function stripRedundant(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => stripRedundant(item))
  if (!isRecord(value)) return value
  const needed = Object.entries(value).filter(([key, inner]) => isMap || !isRedundant(key, inner))
  // The keys of `properties` are argument names, even when they look like keywords.
  return Object.fromEntries(needed.map(([key, inner]) => [key, stripRedundant(inner, !isMap && key === 'properties')]))
}
