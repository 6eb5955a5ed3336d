/**
 * Globs as ripgrep has them: without a slash they are compared with the name, with one with the path from the root.
 * Hidden names match like others.
 */

/** Never throws: a bracket that is never closed stands for itself. */
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
    // A range such as [z-a] is no range: the characters stand for themselves.
    return RegExp.escape(token)
  }
}
