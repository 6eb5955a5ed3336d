/**
 * Validates a tree with the schemas of the modules and describes every invalid value.
 */
import type { z } from 'zod'
import { messageOf } from '../lib/errors.ts'
import type { Redactor } from '../lib/redact.ts'
import type { PathPart } from '../lib/yaml.ts'
import { isSecretPath, typeAt } from './overrides.ts'
import { describeType } from './schema-introspection.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import { isTree, valueAt } from './tree.ts'

/** An invalid value. */
interface ValidationIssue {
  readonly path: readonly PropertyKey[]
  readonly expected: string
  readonly found: string
}

export type ValidationResult<Shape extends ConfigShape> =
  | { readonly ok: true; readonly value: ConfigOf<Shape> }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] }

/** Which values a message may contain. */
export interface RedactionOptions {
  readonly redact: Redactor
  /** Whether the value came from a variable or key with a secret name. */
  isHidden(path: readonly PathPart[]): boolean
}

/** Never throws. */
export function validate<Shape extends ConfigShape>(
  tree: unknown,
  shapes: Shape,
  redaction: RedactionOptions,
): ValidationResult<Shape> {
  const issues: ValidationIssue[] = []
  const values: Record<string, unknown> = {}
  for (const [key, type] of Object.entries(shapes)) {
    const value = isTree(tree) && Object.hasOwn(tree, key) ? tree[key] : undefined
    const result = parseValue(type, value)
    if (result.ok) values[key] = result.value
    else issues.push(...result.schemaIssues.map((issue) => toValidationIssue(issue, key, tree, shapes, redaction)))
  }
  if (issues.length === 0 && hasAllKeys(values, shapes)) return { ok: true, value: values }
  return { ok: false, issues: firstPerPath(issues) }
}

interface SchemaIssue {
  readonly code: z.core.$ZodIssue['code']
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** The issues of an invalid key. */
  readonly issues?: readonly { readonly message: string }[]
}
type ParseResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly schemaIssues: readonly SchemaIssue[] }

function parseValue(type: z.ZodType, value: unknown): ParseResult {
  try {
    // Each schema checks one value, so generating code for it would cost more than it saves.
    const result = type.safeParse(value, { jitless: true })
    return result.success ? { ok: true, value: result.data } : { ok: false, schemaIssues: result.error.issues }
  } catch (error) {
    // The schema has an asynchronous check, or its code throws.
    return { ok: false, schemaIssues: [{ code: 'custom', path: [], message: `the check failed: ${messageOf(error)}` }] }
  }
}

/** Every key was parsed by its schema. */
function hasAllKeys<Shape extends ConfigShape>(
  values: Record<string, unknown>,
  shapes: Shape,
): values is Record<string, unknown> & ConfigOf<Shape> {
  return Object.keys(shapes).every((key) => Object.hasOwn(values, key))
}

function toValidationIssue(
  issue: SchemaIssue,
  key: string,
  tree: unknown,
  shapes: ConfigShape,
  redaction: RedactionOptions,
): ValidationIssue {
  const path = [key, ...issue.path]
  const dataPath = path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  const type = typeAt(shapes, dataPath)
  return {
    path,
    expected: describeExpected(issue, type),
    found:
      issue.code === 'invalid_key'
        ? `the name ${JSON.stringify(String(path.at(-1)).slice(0, maxShownChars))}`
        : describeFound(valueAt(tree, path), dataPath, shapes, redaction),
  }
}

/** A message of a schema's author begins with "expected". Messages of the library are replaced by a description of the type. */
function describeExpected(issue: SchemaIssue, type: z.ZodType | undefined): string {
  const message = issue.code === 'invalid_key' ? (issue.issues?.[0]?.message ?? issue.message) : issue.message
  const expectation = /^expected\s+(?<what>.+)$/is.exec(message)?.groups?.['what']
  if (expectation !== undefined) return expectation
  if (issue.code === 'custom') return `something else (${issue.message})`
  if (issue.code === 'invalid_key') return `another name (${message})`
  if (type === undefined) return message
  // The description does not contain the pattern or the step.
  const vague = issue.code === 'invalid_format' || issue.code === 'not_multiple_of'
  return vague ? `${describeType(type)} (${issue.message})` : describeType(type)
}

function firstPerPath(issues: readonly ValidationIssue[]): ValidationIssue[] {
  const seen = new Set<string>()
  return issues.filter(({ path }) => {
    const name = JSON.stringify(path.map(String))
    return seen.has(name) ? false : seen.add(name) !== undefined
  })
}

const maxShownChars = 40

/** A short description of the value, without values that are secret by name or type. */
function describeFound(
  value: unknown,
  path: readonly PathPart[],
  shapes: ConfigShape,
  redaction: RedactionOptions,
): string {
  if (value === undefined || value === null) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return 'keys with values'
  if (isSecretPath(shapes, path) || redaction.isHidden(path))
    return typeof value === 'string' ? 'a text (not shown, it is secret)' : `a ${typeof value} (not shown)`
  // Before truncation: a part of a secret would not be recognised.
  const text = redaction.redact(String(value))
  const short = text.length > maxShownChars ? `${text.slice(0, maxShownChars)}\u2026` : text
  return typeof value === 'string' ? JSON.stringify(short) : short
}
