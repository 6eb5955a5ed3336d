/**
 * Formats validation issues of a YAML file: `file:line:column: key: expected ..., found ...`.
 */
import { valueAt } from './json.ts'
import type { ParsedYaml } from './yaml.ts'

/** The part of a zod issue that is used. */
export interface ValueIssue {
  readonly path: readonly PropertyKey[]
  /** The expectation: `expected ...`. */
  readonly message: string
}

const maxIssues = 50

/** One line per issue, in the order of the file. */
export function formatYamlIssues(yaml: ParsedYaml, issues: readonly ValueIssue[]): string[] {
  return issues
    .map(({ path, message }) => {
      const parts = path.filter((part) => typeof part !== 'symbol')
      const field = parts.length === 0 ? '' : `${parts.join('.')}: `
      return {
        ...yaml.positionOf(parts),
        text: `${field}${message}, found ${describeValue(valueAt(yaml.value, parts))}`,
      }
    })
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .slice(0, maxIssues)
    .map(({ line, column, text }) => `${yaml.file}:${line}:${column}: ${text}`)
}

/** A short description without the content of lists and mappings. */
function describeValue(value: unknown): string {
  if (value === undefined || value === null) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return 'a mapping'
  const shortened = JSON.stringify(value)
  return shortened.length > 60 ? `${shortened.slice(0, 60)}…` : shortened
}
