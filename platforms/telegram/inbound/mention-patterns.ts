/**
 * Matches words that count as a mention of the bot. They are words, not regular expressions, so that no message can cause
 * a slow match.
 */
import { HermesError } from '#sdk'

/** Whether a text mentions the bot. Runs in time linear to the length of the text. */
export type MentionMatcher = (text: string) => boolean

/**
 * `hermes` matches anywhere as a whole word in any case, `^hermes` only at the start. `\b` and `\s*` around a word are
 * accepted and ignored. Throws `config/invalid` for any other regular expression syntax.
 */
export function createMentionMatcher(words: readonly string[]): MentionMatcher {
  const tests = words.map(toRegExp)
  return (text) => tests.some((test) => test.test(text))
}

function toRegExp(pattern: string): RegExp {
  const [, start, word = ''] = /^(\^?)(?:\\s[*+]?|\\b)*(.*?)(?:\\s[*+]?|\\b)*$/s.exec(pattern) ?? []
  if (word.trim() === '' || /[\\^$*+?()[\]{}|]/.test(word)) {
    throw new HermesError(
      'config/invalid',
      `platforms.telegram.mention_patterns: expected words, optionally with a leading ^, found "${pattern}".`,
    )
  }
  const before = start === '^' ? '^\\s*' : '(?<![\\p{L}\\p{N}_])'
  return new RegExp(`${before}${word.trim().replaceAll('.', '\\.')}(?![\\p{L}\\p{N}_])`, 'iu')
}
