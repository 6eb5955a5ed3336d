/**
 * Checks an OpenAPI document by the rules of version 3.1 that a JSON Schema can state, and by those that it cannot: references, variable
 * parts of paths, security schemes and unique names.
 */
import { asRecord, isRecord } from '../../src/lib/json.ts'

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
/** Keywords of OpenAPI 3.0, which 3.1 does not have. */
const formerKeywords = ['nullable', 'example']

/** Sentences with the place of each problem; none for a valid document. */
export function openApiProblems(document: unknown): string[] {
  const root = asRecord(document)
  const problems: string[] = []
  const report = (place: string, problem: string) => void problems.push(`${place}: ${problem}`)
  const { title, version } = asRecord(root['info'])
  if (!/^3\.1\.\d+$/.test(String(root['openapi']))) report('openapi', 'is not 3.1')
  if (typeof title !== 'string' || typeof version !== 'string') report('info', 'has no title or no version')
  checkReferences(root, root, '#', report)

  const ids = new Set<unknown>()
  const shapes = new Set<string>()
  const schemes = Object.keys(asRecord(asRecord(root['components'])['securitySchemes']))
  for (const [path, operations] of Object.entries(asRecord(root['paths']))) {
    const shape = path.replace(/\{[^}]*\}/g, '{}')
    if (!path.startsWith('/') || /[?#{}]/.test(shape.replaceAll('{}', ''))) report(path, 'is no path')
    if (shapes.has(shape)) report(path, 'is there twice, with other names')
    shapes.add(shape)
    for (const [method, value] of Object.entries(asRecord(operations))) {
      const place = `${method} ${path}`
      const operation = asRecord(value)
      const { operationId } = operation
      if (ids.has(operationId)) report(place, `shares its operationId ${operationId}`)
      ids.add(operationId)
      checkOperation({ method, path, operation, schemes }, (problem) => report(place, problem))
    }
  }
  return problems
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly operation: Readonly<Record<string, unknown>>
  /** The names of the security schemes. */
  readonly schemes: readonly string[]
}

function checkOperation({ method, path, operation, schemes }: Operation, report: (problem: string) => void): void {
  const { operationId, security, parameters, requestBody, responses } = operation
  if (!methods.includes(method)) report('has no method of HTTP')
  if (typeof operationId !== 'string') report('has no operationId')
  for (const name of listOf(security).flatMap((one) => Object.keys(asRecord(one))))
    if (!schemes.includes(name)) report(`names the unknown security scheme ${name}`)
  checkParameters(path, listOf(parameters), report)
  checkBody(method, requestBody, report)
  checkResponses(asRecord(responses), report)
}

function checkReferences(
  value: unknown,
  root: Readonly<Record<string, unknown>>,
  place: string,
  report: (place: string, problem: string) => void,
): void {
  if (Array.isArray(value))
    for (const [index, one] of value.entries()) checkReferences(one, root, `${place}/${index}`, report)
  if (!isRecord(value)) return
  const { $ref: reference } = value
  if (typeof reference === 'string' && !resolves(reference, root)) report(place, `${reference} does not exist`)
  for (const [key, one] of Object.entries(value)) checkReferences(one, root, `${place}/${key}`, report)
}

function resolves(reference: string, root: Readonly<Record<string, unknown>>): boolean {
  if (!reference.startsWith('#/')) return false
  let found: unknown = root
  for (const part of reference.slice(2).split('/'))
    found = isRecord(found) ? found[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
  return found !== undefined
}

function checkParameters(path: string, parameters: readonly unknown[], report: (problem: string) => void): void {
  const declared = new Set<string>()
  for (const value of parameters) {
    const { in: kind, name, required, schema } = asRecord(value)
    const key = `${kind} ${name}`
    if (!['path', 'query', 'header', 'cookie'].includes(String(kind))) report(`the parameter ${name} is nowhere`)
    if (declared.has(key)) report(`the parameter ${key} is declared twice`)
    if (kind === 'path' && required !== true) report(`the path parameter ${name} is not required`)
    declared.add(key)
    checkSchema(schema, `the parameter ${name}`, report)
  }
  const variables = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => `path ${name}`)
  for (const name of variables) if (!declared.has(name)) report(`the ${name} is not declared`)
  for (const name of declared)
    if (name.startsWith('path ') && !variables.includes(name)) report(`the ${name} is not in the path`)
}

function checkBody(method: string, body: unknown, report: (problem: string) => void): void {
  if (body === undefined) return
  if (method === 'get' || method === 'head') report('has a body')
  checkContent(asRecord(body)['content'], 'the body', report)
}

function checkResponses(responses: Readonly<Record<string, unknown>>, report: (problem: string) => void): void {
  const all = Object.entries(responses)
  if (all.length === 0) report('has no response')
  for (const [status, value] of all) {
    const { description, content } = asRecord(value)
    if (!/^(?:[1-5](?:\d\d|XX)|default)$/.test(status)) report(`${status} is no status`)
    if (typeof description !== 'string' || description === '') report(`${status} has no description`)
    if (content !== undefined) checkContent(content, status, report)
  }
}

function checkContent(content: unknown, place: string, report: (problem: string) => void): void {
  const all = Object.entries(asRecord(content))
  if (all.length === 0) report(`${place} has no content`)
  for (const [type, media] of all) {
    if (!/^[\w.+-]+\/[\w.+*-]+$/.test(type)) report(`${place}: ${type} is no media type`)
    checkSchema(asRecord(media)['schema'], `${place} ${type}`, report)
  }
}

/** Checks a schema of draft 2020-12. */
function checkSchema(value: unknown, place: string, report: (problem: string) => void): void {
  if (typeof value === 'boolean') return
  if (!isRecord(value)) {
    report(`${place} has no schema`)
    return
  }
  const {
    type,
    properties = {},
    required = [],
    items,
    anyOf,
    oneOf,
    allOf,
    additionalProperties,
    pattern,
    enum: values,
  } = value
  for (const one of [type].flat())
    if (one !== undefined && !types.includes(String(one))) report(`${place}: no type ${one}`)
  for (const name of formerKeywords) if (name in value) report(`${place}: ${name} belongs to OpenAPI 3.0`)
  if (Array.isArray(values) && values.length === 0) report(`${place}: enum is empty`)
  if (typeof pattern === 'string' && !isPattern(pattern)) report(`${place}: ${pattern} is no pattern`)
  const known = asRecord(properties)
  for (const name of listOf(required))
    if (additionalProperties === false && !(String(name) in known))
      report(`${place}: ${name} is required and not allowed`)
  for (const [name, one] of Object.entries(known)) checkSchema(one, `${place}.${name}`, report)
  for (const one of [items, additionalProperties]) if (one !== undefined) checkSchema(one, `${place}[]`, report)
  for (const one of [anyOf, oneOf, allOf].flatMap(listOf)) checkSchema(one, place, report)
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    // The constructor throws a SyntaxError for such a text, and nothing else.
    return false
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
