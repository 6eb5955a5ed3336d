/**
 * The answer of a sub-agent as JSON of a given form: the schema is checked before the sub-agent starts, and its answer when it
 * ends. An answer of another form gets one turn to correct it.
 */
import { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import { asArray, asRecord, isRecord, parseJson } from '../../lib/json.ts'
import type { ChatMessage } from '../../message/transcript.ts'
import type { SubagentResult } from '../support/subagent-result.ts'
import { DelegationRefused } from '../tools/tool.ts'

export type OutputCheck = (text: string) => { readonly output: unknown } | { readonly problem: string }

const maxSchemaChars = 20_000
/** Parts of a schema, those behind references as often as they are referred to. */
const maxSchemaParts = 4_000
const maxAnswerChars = 200_000

/** Their regular expressions come from a model and could take for ever. */
const refusedKeywords: ReadonlySet<string> = new Set(['pattern', 'patternProperties'])

/** Throws `DelegationRefused` for a schema that cannot be checked. */
export function createOutputCheck(schema: JsonObject): OutputCheck {
  const text = JSON.stringify(schema)
  if (text.length > maxSchemaChars)
    throw invalidSchema(`It has ${text.length} characters; ${maxSchemaChars} are permitted.`)
  const refused = findKeyword(schema)
  if (refused !== undefined) throw invalidSchema(`The keyword ${refused} is not supported; use enum or format.`)
  checkReferences(schema)
  const type = parseSchema(schema)
  return (answer) => {
    if (answer.length > maxAnswerChars)
      return { problem: `It has ${answer.length} characters; ${maxAnswerChars} are permitted.` }
    const decoded = decodeAnswer(answer)
    if ('problem' in decoded) return decoded
    return checkAnswer(type, decoded)
  }
}

function checkAnswer(type: z.ZodType, decoded: { readonly output: unknown }): ReturnType<OutputCheck> {
  try {
    const parsed = type.safeParse(decoded.output)
    return parsed.success ? decoded : { problem: describeIssues(parsed.error) }
  } catch (error) {
    // It is nested too deeply.
    return { problem: messageOf(error).slice(0, 300) }
  }
}

function parseSchema(schema: JsonObject): z.ZodType {
  try {
    const type = z.fromJSONSchema(completeSchema(schema))
    // References are resolved with the first value.
    type.safeParse(null)
    return type
  } catch (error) {
    throw invalidSchema(messageOf(error).slice(0, 300))
  }
}

function invalidSchema(reason: string): DelegationRefused {
  return new DelegationRefused(
    'invalid_schema',
    `The output_schema is no usable JSON Schema. ${reason} None was started.`,
  )
}

/** Each of them is tried on the same part of an answer. */
const alternatives: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'])

/** Throws for references by which a check takes much longer than the schema and the answer are long. */
function checkReferences(root: JsonObject): void {
  let parts = 0
  let isRecursive = false
  let hasAlternatives = false
  const walk = (value: unknown, within: ReadonlySet<string>, isMap: boolean): void => {
    if (typeof value !== 'object' || value === null) return
    parts += 1
    if (parts > maxSchemaParts)
      throw invalidSchema(`With its references it has more than ${maxSchemaParts} parts. Refer to less.`)
    for (const [key, inner] of Object.entries(value)) {
      if (isMap) walk(inner, within, false)
      else if (key === '$ref') follow(String(inner), within)
      else if (key !== 'enum' && key !== 'const') {
        if (alternatives.has(key)) hasAlternatives = true
        walk(inner, within, mapKeywords.has(key))
      }
    }
  }
  const follow = (pointer: string, within: ReadonlySet<string>) => {
    if (within.has(pointer)) isRecursive = true
    else walk(resolvePointer(root, pointer), new Set([...within, pointer]), false)
  }
  walk(root, new Set(['#']), false)
  if (isRecursive && hasAlternatives)
    throw invalidSchema('A schema that refers to itself is supported only without anyOf, oneOf, allOf, not and if.')
}

/** Only references within the schema, such as `#/$defs/item`. */
function resolvePointer(root: JsonObject, pointer: string): unknown {
  if (!pointer.startsWith('#/')) throw invalidSchema('Only references such as #/$defs/item are supported.')
  let at: unknown = root
  for (const part of pointer.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    at = typeof at === 'object' && at !== null ? new Map(Object.entries(at)).get(key) : undefined
  }
  if (at === undefined) throw invalidSchema(`There is nothing at ${pointer.slice(0, 100)}.`)
  return at
}

/** Their keys are names, even when they look like keywords. */
const mapKeywords: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])

/** A schema without `type` is meant for values of the type to which its keywords belong; Zod would accept every value. */
const typeOfKeyword: Readonly<Record<string, string>> = {
  properties: 'object',
  required: 'object',
  additionalProperties: 'object',
  propertyNames: 'object',
  minProperties: 'object',
  maxProperties: 'object',
  items: 'array',
  prefixItems: 'array',
  contains: 'array',
  minItems: 'array',
  maxItems: 'array',
  uniqueItems: 'array',
  minLength: 'string',
  maxLength: 'string',
  format: 'string',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'number',
}

/** They say something about a value, or nothing at all. */
const otherKeywords: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'const', '$ref', '$defs', 'definitions', ...alternatives, ...refusedKeywords],
  ...['$schema', '$id', '$anchor', '$comment', 'title', 'description', 'default', 'example', 'examples', 'nullable'],
  ...['dependentRequired', 'dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties', 'deprecated', 'readOnly'],
])

/** The same schema as Zod understands it: with the types that are left out, and with the properties that are only required. */
function completeSchema(root: JsonObject): JsonObject {
  const keys = Object.keys(root)
  if (keys.length > 0 && !keys.some((key) => key in typeOfKeyword || otherKeywords.has(key)))
    throw new Error('It has no keyword of JSON Schema; the names of an object belong under `properties`.')
  // Zod looks for definitions where the draft has them.
  const isOld = root['$schema'] === undefined && root['definitions'] !== undefined && root['$defs'] === undefined
  return completePart({ ...(isOld ? { $schema: 'http://json-schema.org/draft-07/schema#' } : {}), ...root })
}

function completePart(schema: JsonObject): JsonObject {
  const parts = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (key === 'enum' || key === 'const' || key === 'default') return [key, value]
    if (mapKeywords.has(key) && isRecord(value)) return [key, mapValues(value, completeValue)]
    return [key, completeValue(value)]
  })
  const completed: JsonObject = Object.fromEntries(parts)
  const { type, $ref: reference, enum: values, properties, required, items, prefixItems } = completed
  const isTyped = type !== undefined || reference !== undefined || values !== undefined || 'const' in completed
  const keyword = isTyped ? undefined : Object.keys(completed).find((key) => key in typeOfKeyword)
  const inferred = keyword === undefined ? type : typeOfKeyword[keyword]
  const types = asArray(inferred).length > 0 ? asArray(inferred) : [inferred]
  const unnamed = asArray(required).filter((name) => typeof name === 'string')
  const anything = Object.fromEntries(unnamed.map((name) => [name, {}]))
  return {
    ...completed,
    ...(inferred === undefined ? {} : { type: inferred }),
    ...(types.includes('object') && unnamed.length > 0 ? { properties: { ...anything, ...asRecord(properties) } } : {}),
    ...(types.includes('array') && items === undefined && prefixItems === undefined ? { items: {} } : {}),
  }
}

function completeValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(completeValue)
  return isRecord(value) ? completePart(value) : value
}

function mapValues(map: JsonObject, change: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]))
}

function findKeyword(value: unknown, isMap = false): string | undefined {
  if (Array.isArray(value)) return value.map((item) => findKeyword(item)).find((keyword) => keyword !== undefined)
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (!isMap && refusedKeywords.has(key)) return key
    if (!isMap && (key === 'enum' || key === 'const')) continue
    const keyword = findKeyword(inner, !isMap && mapKeywords.has(key))
    if (keyword !== undefined) return keyword
  }
  return undefined
}

/** Models write JSON alone, in a code fence, or within a text. */
function decodeAnswer(answer: string): ReturnType<OutputCheck> {
  const fenced = inFence(answer)
  const inner = answer.slice(
    Math.max(0, answer.search(/[[{]/)),
    Math.max(answer.lastIndexOf('}'), answer.lastIndexOf(']')) + 1,
  )
  for (const text of [answer, fenced, inner]) {
    if (text === undefined || text.trim() === '') continue
    // If not, the next reading may be JSON.
    const output = parseJson(text)
    if (output !== undefined) return { output }
  }
  return { problem: 'It is not JSON.' }
}

/** The content of the first fence that has no other language. Linear time. */
function inFence(answer: string): string | undefined {
  for (let at = answer.indexOf('```'); at !== -1; at = answer.indexOf('```', at + 3)) {
    const [language = '', ...rest] = answer.slice(at + 3, at + 20).split('\n')
    if (rest.length === 0 || !['', 'json'].includes(language.trim().toLowerCase())) continue
    const begin = answer.indexOf('\n', at)
    const close = answer.indexOf('```', begin)
    return close === -1 ? undefined : answer.slice(begin, close)
  }
  return undefined
}

function describeIssues({ issues }: z.ZodError): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.length === 0 ? 'the answer' : path.join('.')}: ${message}`)
    .join('; ')
    .slice(0, 1_000)
}

/** What the message of a sub-agent says about its answer. */
export function schemaRequest(schema: JsonObject): string {
  return `Answer with JSON alone, of this JSON Schema:\n${JSON.stringify(schema)}`
}

export function correctionMessage(problem: string): ChatMessage {
  return {
    role: 'user',
    content: `Your answer does not match the JSON Schema. ${problem} Answer once more, with the JSON alone.`,
  }
}

/** What the check says about an answer, for its result. */
export function checkedResult(
  check: OutputCheck | undefined,
  text: string,
): Pick<SubagentResult, 'schemaValid' | 'output'> {
  if (check === undefined) return {}
  const checked = check(text)
  return 'problem' in checked ? { schemaValid: false } : { schemaValid: true, output: checked.output }
}
