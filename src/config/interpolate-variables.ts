/**
 * Replaces `${NAME}` in strings of the configuration with environment variables, before validation.
 */
import type { PathPart } from '../lib/yaml.ts'

interface VariableReference {
  readonly path: readonly PathPart[]
  /** The referenced variables. */
  readonly variables: readonly string[]
  /** Whether the string is a single reference, which may become a number or a list. */
  readonly whole: boolean
}

const referencePattern = /\$\$\{|\$\{(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>[^}]*))?\}/g
const wholeReferencePattern = /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}$/

/**
 * Returns a copy of the tree with `${NAME}` and `${NAME:-default}` replaced. `$${` is an escaped `${`. Keys and the values of
 * variables are not interpolated.
 */
export function interpolateVariables(tree: unknown, values: Readonly<Record<string, string>>) {
  const references: VariableReference[] = []
  const undefinedVariables: { path: readonly PathPart[]; name: string }[] = []

  const replace = (text: string, path: readonly PathPart[]): string => {
    if (!text.includes('${')) return text
    const variables: string[] = []
    const replaced = text.replace(referencePattern, (match, name?: string, fallback?: string) => {
      if (name === undefined) return '${'
      variables.push(name)
      const value = Object.hasOwn(values, name) ? values[name] : fallback
      if (value === undefined) undefinedVariables.push({ path, name })
      return value ?? match
    })
    if (variables.length > 0) references.push({ path, variables, whole: wholeReferencePattern.test(text) })
    return replaced
  }
  const visit = (value: unknown, path: readonly PathPart[]): unknown => {
    if (typeof value === 'string') return replace(value, path)
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner, [...path, key])]))
  }
  return { tree: visit(tree, []), references, undefinedVariables }
}
