/**
 * Words that count as a mention of the bot. They are words and no regular expressions: a message of a stranger must never
 * be able to make a pattern slow.
 */
import { HermesError } from '#sdk'

/** Whether a text names the bot. Takes time in proportion to the text. */
export type MentionMatcher = (text: string) => boolean

/**
 * `hermes` anywhere as a whole word in any case, `^hermes` at the beginning only. The `\b` and `\s*` around a word that
 * people know from patterns change nothing. Throws `config/invalid` for anything else that looks like a pattern.
 */
export function createMentionMatcher(words: readonly string[]): MentionMatcher {
  const tests = words.map(toRegExp)
  return (text) => tests.some((test) => test.test(text))
}

function toRegExp(given: string): RegExp {
  const [, start, word = ''] = /^(\^?)(?:\\s[*+]?|\\b)*(.*?)(?:\\s[*+]?|\\b)*$/s.exec(given) ?? []
  if (word.trim() === '' || /[\\^$*+?()[\]{}|]/.test(word)) {
    throw new HermesError(
      'config/invalid',
      `platforms.telegram.mention_patterns: expected words, with ^ in front for the beginning only, found "${given}".`,
    )
  }
  const before = start === '^' ? '^\\s*' : '(?<![\\p{L}\\p{N}_])'
  return new RegExp(`${before}${word.trim().replaceAll('.', '\\.')}(?![\\p{L}\\p{N}_])`, 'iu')
}
