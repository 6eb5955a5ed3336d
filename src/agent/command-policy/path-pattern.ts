/**
 * A path of a command, normalised without looking at the disk, whose components may be patterns or unknown.
 */
import { escapeRegExp } from './escape-regexp.ts'
import { type Field, type FieldPart, hasUnknown, textPiece } from './field.ts'

/** The components from the root; none is empty, `.` or `..`. */
export type PathPattern = readonly Field[]

/** `/usr/bin` as components; for paths known in advance. */
export const pathComponents = (path: string): string[] => path.split('/').filter((part) => part !== '')

/** Undefined when it is not known where the path begins. `cwd` is where relative ones start. */
export function toPathPattern(field: Field, cwd: string | undefined): PathPattern | undefined {
  const first = field[0]
  if (first === undefined || first.kind === 'unknown') return undefined
  const absolute = first.kind === 'text' && first.text.startsWith('/')
  if (!absolute && cwd === undefined) return undefined
  const pattern: Field[] = absolute ? [] : pathComponents(cwd ?? '').map((part) => [textPiece(part)])
  for (const part of splitAtSlashes(field)) {
    const text = part.every((piece) => piece.kind === 'text') ? part.map((piece) => piece.text).join('') : undefined
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

/** `/proc/self/root` is `/` once more, and `/proc/self/cwd` the folder the command stands in. */
function isProcessLink(pattern: PathPattern, name: string): boolean {
  const process = pattern.length === 5 && componentMatches(pattern[2], 'task') ? 4 : 2
  return pattern.length === process + 1 && isWithin(pattern, ['proc']) && componentMatches(pattern[process], name)
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

/** Whether a component is certain to be, or to match, this name. Unknown ones match nothing. */
export function componentMatches(component: Field | undefined, name: string): boolean {
  if (component === undefined || hasUnknown(component)) return false
  const source = component.map((piece) => (piece.kind === 'glob' ? piece.pattern : escapeRegExp(piece.text))).join('')
  try {
    return new RegExp(`^${source}$`, 'su').test(name)
  } catch {
    // A range that is no range, such as [z-a]: bash matches nothing with it either.
    return false
  }
}

/** The pattern is, or matches, exactly this path. */
export function matchesPath(pattern: PathPattern, path: readonly string[]): boolean {
  return pattern.length === path.length && isWithin(pattern, path)
}

/** The pattern is this path or lies below it. */
export function isWithin(pattern: PathPattern, path: readonly string[]): boolean {
  return pattern.length >= path.length && path.every((name, index) => componentMatches(pattern[index], name))
}

/** The last component takes everything in its folder: `*`, `.*`, `?*`. */
export function matchesAll(pattern: PathPattern): boolean {
  const last = pattern.at(-1)
  return componentMatches(last, 'x7q') || componentMatches(last, '.x7q')
    ? last?.some((p) => p.kind === 'glob') === true
    : false
}

/** The text a path begins with, up to the first part that is not known. */
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
