/**
 * Says what is wrong with the values of a YAML file, each with its place: `file:line:column: key: expected …, found …`.
 */
import type { ParsedYaml, PathPart } from './yaml.ts'

/** As zod has it. */
export interface ValueIssue {
  readonly path: readonly PropertyKey[]
  /** What was expected. */
  readonly message: string
}

/** Nobody mends more at a time. */
const maxIssues = 50

/** One sentence each, in the order of the file. */
export function formatYamlIssues(yaml: ParsedYaml, problems: readonly ValueIssue[]): string[] {
  return problems
    .map(({ path, message }) => {
      const parts = path.filter((part) => typeof part !== 'symbol')
      const field = parts.length === 0 ? '' : `${parts.join('.')}: `
      return {
        ...yaml.positionOf(parts),
        text: `${field}${message}, found ${describeValue(valueAt(yaml.value, parts))}`,
      }
    })
    .sort((one, other) => one.line - other.line || one.column - other.column)
    .slice(0, maxIssues)
    .map(({ line, column, text }) => `${yaml.file}:${line}:${column}: ${text}`)
}

function valueAt(value: unknown, path: readonly PathPart[]): unknown {
  let found = value
  for (const part of path) {
    if (typeof found !== 'object' || found === null) return undefined
    // Not by going through them: a list of a thousand wrong values would take seconds.
    found = Object.getOwnPropertyDescriptor(found, part)?.value
  }
  return found
}

/** Short, and without the content of lists and mappings. */
function describeValue(value: unknown): string {
  if (value === undefined || value === null) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return 'a mapping'
  const shortened = JSON.stringify(value)
  return shortened.length > 60 ? `${shortened.slice(0, 60)}…` : shortened
}
