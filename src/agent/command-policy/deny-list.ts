/**
 * The user's own list of commands that never run (`approvals.deny`): patterns in which `*` is any text and `?` any
 * character, compared without regard to case.
 */
import { escapeRegExp } from './escape-regexp.ts'
import { forbid, type RuleMatch } from './rule-match.ts'

export type DenyList = (variants: Iterable<string>) => RuleMatch | undefined

/** A pattern is compared with the whole of each variant: the command as written, and each simple command in it. */
export function createDenyList(patterns: readonly string[]): DenyList {
  const compiled = patterns.map((pattern) => ({ pattern, matcher: toMatcher(pattern) }))
  return (variants) => {
    for (const variant of variants) {
      const text = normalizeWhitespace(variant)
      const hit = compiled.find(({ matcher }) => matcher.test(text))
      if (hit !== undefined) return forbid('denied', `is on the list of denied commands (${hit.pattern})`)
    }
    return undefined
  }
}

const normalizeWhitespace = (text: string) => text.trim().replace(/\s+/g, ' ')

function toMatcher(pattern: string): RegExp {
  // Runs of stars are one star: several in a row would make the comparison slow.
  const source = normalizeWhitespace(pattern)
    .replace(/\*+/g, '*')
    .split(/([*?])/)
    .map((part) => (part === '*' ? '.*' : part === '?' ? '.' : escapeRegExp(part)))
    .join('')
  return new RegExp(`^${source}$`, 'isu')
}
