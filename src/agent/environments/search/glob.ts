/**
 * Globs with the semantics of `rg --hidden --glob`: a glob without a slash is compared with the file name, one with a slash
 * with the path from the root. `path.matchesGlob` is not used because it skips hidden files, treats `(…)` and `{1..3}` as
 * operators and matches nothing after a backslash or an unclosed brace.
 */

/** Never throws: an unclosed bracket is literal. */
export function createGlobMatcher(glob: string): (relativePath: string) => boolean {
  const matcher = new RegExp(`^${toRegExpSource(glob.replace(/^\.?\//, ''))}$`, 'su')
  if (glob.includes('/')) return (path) => matcher.test(path)
  return (path) => matcher.test(path.slice(path.lastIndexOf('/') + 1))
}

const globTokens = /\*\*\/|\*+|\?|\[[!^]?\]?[^\]]*\]|\{|\}|,|\\.|[^*?[{},\\]+|./gsu

function toRegExpSource(glob: string): string {
  let braces = 0
  return (
    (glob.match(globTokens) ?? [])
      .map((token) => {
        if (token === '**/') return '(?:.*/)?'
        if (token.startsWith('**')) return '.*'
        if (token === '*') return '[^/]*'
        if (token === '?') return '[^/]'
        if (token === '{') {
          braces += 1
          return '(?:'
        }
        if (token === '}' && braces > 0) {
          braces -= 1
          return ')'
        }
        if (token === ',' && braces > 0) return '|'
        if (token.startsWith('[') && token.length > 2) return bracketSource(token)
        return RegExp.escape(token.startsWith('\\') ? token.slice(1) : token)
      })
      .join('') + ')'.repeat(braces)
  )
}

function bracketSource(token: string): string {
  const inner = token.slice(1, -1)
  const negated = /^[!^]/.test(inner)
  const body = (negated ? inner.slice(1) : inner).replace(/[\\\]^[&]/g, '\\$&')
  const source = `[${negated ? '^/' : ''}${body}]`
  try {
    new RegExp(source, 'u')
    return source
  } catch {
    // An invalid range such as [z-a] is literal.
    return RegExp.escape(token)
  }
}
