/**
 * Emphasis next to scripts without spaces between words. By the rules of CommonMark the last marker of `**注意：**这是` does not
 * end the bold text, because it follows a punctuation mark and precedes a letter. Here, as in the proposed amendment
 * "CJK-friendly emphasis", punctuation and letters of these scripts do not prevent a marker from opening or closing.
 */
import type { Tokenizer } from 'marked'

type InlineRules = Tokenizer['rules']['inline']
type EmphasisRules = Pick<
  InlineRules,
  'punctuation' | 'emStrongLDelim' | 'emStrongRDelimAst' | 'delLDelim' | 'delRDelim'
>

const scripts = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Thai', 'Lao', 'Khmer', 'Myanmar']
/** Letters and punctuation of the scripts, and full-width forms. */
const dense = `[${scripts.map((name) => `\\p{scx=${name}}`).join('')}\\u3001-\\u303f\\ufe30-\\ufe4f\\uff01-\\uffee]`
/** Punctuation of other scripts. GFM treats the tilde as a letter. */
const punctuation = `[[\\p{P}\\p{S}]--${dense}--[~]]`
const blankOrPunctuation = `[\\s${punctuation}]`
const wordCharacter = `[^\\s${punctuation}]`
const sparseWordCharacter = `[${wordCharacter}--${dense}]`

/**
 * The rules of `marked` 18 with these character classes. The groups mean, in order: 1 and 2 a marker that can only close,
 * 3 and 4 one that can only open, 5 and 6 one that can do both.
 */
function closingMarker(skipped: string, mark: string, run: string): RegExp {
  const notMark = `(?!${mark})`
  return new RegExp(
    [
      skipped,
      `${notMark}${punctuation}(${run})(?=\\s|$)`,
      `(?:${sparseWordCharacter}|${dense}(?!${mark}+${punctuation}))(${run})${notMark}(?=${blankOrPunctuation}|$)`,
      `${notMark}(?:\\s|${punctuation}(?!${mark}+${dense}))(${run})(?=${wordCharacter})`,
      `\\s(${run})${notMark}(?=${punctuation})`,
      `${notMark}[${punctuation}${dense}](${run})${notMark}(?=[${punctuation}${dense}])`,
      `${wordCharacter}(${run})(?=${wordCharacter})`,
    ].join('|'),
    'gv',
  )
}

export const emphasisRules: EmphasisRules = {
  punctuation: new RegExp(`^((?![*_])[\\s\\p{P}\\p{S}${dense}])`, 'v'),
  emStrongLDelim: new RegExp(
    `^(?:\\*+(?:((?!\\*)${punctuation})|([^\\s*]))?)|^_+(?:((?!_)${punctuation})|([^\\s_]))?`,
    'v',
  ),
  emStrongRDelimAst: closingMarker('^[^_*]*?__[^_*]*?\\*[^_*]*?(?=__)|[^*]+(?=[^*])', '\\*', '\\*+'),
  delLDelim: new RegExp(`^~~?(?:((?!~)${punctuation})|[^\\s~])`, 'v'),
  delRDelim: closingMarker('^[^~]+(?=[^~])', '~', '~~?'),
}
