/**
 * A path in a command, normalized without access to the disk. Its components may be patterns or unknown.
 */
import { type Field, type FieldPart, hasUnknown, literalText, textPiece } from './field.ts'

/** The components from the root; no component is empty, `.` or `..`. */
export type PathPattern = readonly Field[]

/** Splits an absolute path such as `/usr/bin`. */
export const pathComponents = (path: string): string[] => path.split('/').filter((part) => part !== '')

/** Resolves a relative path against `cwd`. Undefined when the beginning of the path, or `cwd`, is not known. */
export function toPathPattern(field: Field, cwd: string | undefined): PathPattern | undefined {
  const first = field[0]
  if (first === undefined || first.kind === 'unknown') return undefined
  const absolute = first.kind === 'text' && first.text.startsWith('/')
  if (!absolute && cwd === undefined) return undefined
  const pattern: Field[] = absolute ? [] : pathComponents(cwd ?? '').map((part) => [textPiece(part)])
  for (const part of splitAtSlashes(field)) {
    const text = literalText(part)
    if (text === '' || text === '.') continue
    if (text === '..') pattern.pop()
    else pattern.push(part)
    if (isProcessLink(pattern, 'root')) pattern.length = 0
    else if (isProcessLink(pattern, 'cwd')) {
      if (cwd === undefined) return undefined
      pattern.splice(0, pattern.length, ...pathComponents(cwd).map((name) => [textPiece(name)]))
    }
  }
  return pattern
}

/** `/proc/self/root` is a link to `/`, and `/proc/self/cwd` a link to the working directory. */
function isProcessLink(pattern: PathPattern, name: string): boolean {
  const process = pattern.length === 5 && componentMatches(pattern[2], 'task') ? 4 : 2
  return pattern.length === process + 1 && isAtOrBelow(pattern, ['proc']) && componentMatches(pattern[process], name)
}

function splitAtSlashes(field: Field): Field[] {
  const parts: FieldPart[][] = [[]]
  for (const piece of field) {
    if (piece.kind !== 'text') {
      parts.at(-1)?.push(piece)
      continue
    }
    for (const [index, text] of piece.text.split('/').entries()) {
      if (index > 0) parts.push([])
      if (text !== '') parts.at(-1)?.push(textPiece(text))
    }
  }
  return parts
}

/** Whether a component equals or matches a name. An unknown component matches nothing. */
export function componentMatches(component: Field | undefined, name: string): boolean {
  if (component === undefined || hasUnknown(component)) return false
  const literal = literalText(component)
  if (literal !== undefined) return literal === name
  const source = component.map((piece) => (piece.kind === 'glob' ? piece.pattern : RegExp.escape(piece.text))).join('')
  try {
    return new RegExp(`^${source}$`, 'su').test(name)
  } catch {
    // An invalid range such as [z-a] matches nothing in bash either.
    return false
  }
}

/** The pattern equals or matches exactly this path. */
export function matchesPath(pattern: PathPattern, path: readonly string[]): boolean {
  return pattern.length === path.length && isAtOrBelow(pattern, path)
}

/** The pattern is this path or is below it. */
export function isAtOrBelow(pattern: PathPattern, path: readonly string[]): boolean {
  return pattern.length >= path.length && path.every((name, index) => componentMatches(pattern[index], name))
}

/** The last component matches everything in its directory: `*`, `.*`, `?*`. */
export function matchesAll(pattern: PathPattern): boolean {
  const last = pattern.at(-1)
  return componentMatches(last, 'x7q') || componentMatches(last, '.x7q')
    ? last?.some((p) => p.kind === 'glob') === true
    : false
}

/** The text at the beginning of a path, up to the first part that is not literal. */
export function knownPrefix(pattern: PathPattern): string {
  let start = ''
  for (const component of pattern) {
    start += '/'
    for (const piece of component) {
      if (piece.kind !== 'text') return start
      start += piece.text
    }
  }
  return start
}
