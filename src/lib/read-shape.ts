/**
 * Reads a value by a schema, and says in plain words what is wrong with the first field that cannot be read.
 */

import type { z } from 'zod'
import { HermesError } from './errors.ts'

export type ReadShape<Output> =
  | { readonly ok: true; readonly value: Output }
  /** A clause that begins with the path of the field: `repeat: expected a number`. Without a field it begins with `whole`. */
  | { readonly ok: false; readonly problem: string }

export function readShape<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  whole: string,
): ReadShape<z.output<Shape>> {
  // A message of the schema itself goes before these.
  const parsed = shape.safeParse(value, { error: expectationOf })
  if (parsed.success) return { ok: true, value: parsed.data }
  const [issue] = parsed.error.issues
  return { ok: false, problem: `${issue?.path.join('.') || whole}: ${issue?.message ?? 'it cannot be read'}` }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

function expectationOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `${issue.input === undefined ? 'it is missing; ' : ''}expected ${kinds[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return oneOf(issue.values)
    case 'too_big':
      return `expected at most ${issue.maximum}${unitOf(issue.origin)}`
    case 'too_small':
      return `expected at least ${issue.minimum}${unitOf(issue.origin)}`
    case 'not_multiple_of':
      return `expected a multiple of ${issue.divisor}`
    case 'invalid_format':
      return `expected text of the form ${issue.pattern ?? issue.format}`
    case 'unrecognized_keys':
      return `there is no ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`
    case 'invalid_union':
      // With a field that tells the forms apart, none was tried.
      if (issue.errors.length === 0)
        return 'options' in issue && Array.isArray(issue.options) ? oneOf(issue.options) : 'it cannot be read'
      return [...new Set(issue.errors.map(([first]) => first?.message ?? ''))].join(', or ')
    default:
      return 'it cannot be read'
  }
}

function oneOf(values: readonly unknown[]): string {
  return `expected ${values.length === 1 ? '' : 'one of '}${values.map((value) => JSON.stringify(value)).join(', ')}`
}

function unitOf(origin: string): string {
  return { string: ' characters', array: ' entries', set: ' entries' }[origin] ?? ''
}

/** Throws `http/bad-request`, which names the field. */
export function parseInput<Shape extends z.ZodType>(shape: Shape, value: unknown): z.output<Shape> {
  const read = readShape(shape, value, 'the request')
  if (read.ok) return read.value
  throw new HermesError('http/bad-request', read.problem)
}
