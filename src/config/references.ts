/**
 * `${NAME}` in texts of the configuration: replaced by the environment before anything is checked.
 */
import type { PathPart } from '../lib/yaml.ts'

interface Reference {
  readonly path: readonly PathPart[]
  /** The variables that were put in. */
  readonly names: readonly string[]
  /** The text is this one reference and nothing else, so it may become a number or a list. */
  readonly whole: boolean
}

export interface Resolved {
  readonly tree: unknown
  readonly references: readonly Reference[]
  readonly undefinedNames: readonly { readonly path: readonly PathPart[]; readonly name: string }[]
}

const reference = /\$\$\{|\$\{(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>[^}]*))?\}/g
const wholeReference = /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}$/

/**
 * A copy of the tree in which `${NAME}` and `${NAME:-default}` are replaced and `$${` stands for `${`.
 * Keys are left alone; what a variable holds is not read again.
 */
export function resolveReferences(tree: unknown, values: Readonly<Record<string, string>>): Resolved {
  const references: Reference[] = []
  const undefinedNames: { path: readonly PathPart[]; name: string }[] = []

  const replace = (text: string, path: readonly PathPart[]): string => {
    if (!text.includes('${')) return text
    const names: string[] = []
    const replaced = text.replace(reference, (match, name?: string, fallback?: string) => {
      if (name === undefined) return '${'
      names.push(name)
      const value = Object.hasOwn(values, name) ? values[name] : fallback
      if (value === undefined) undefinedNames.push({ path, name })
      return value ?? match
    })
    if (names.length > 0) references.push({ path, names, whole: wholeReference.test(text) })
    return replaced
  }
  const visit = (value: unknown, path: readonly PathPart[]): unknown => {
    if (typeof value === 'string') return replace(value, path)
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner, [...path, key])]))
  }
  return { tree: visit(tree, []), references, undefinedNames }
}
