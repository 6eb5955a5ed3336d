/**
 * Characters that no one sees, and that can carry a hidden text.
 */

const maxInvisibleIds = 20

/** Zero-width and bidirectional characters, tag characters and variation selectors that can carry a hidden text. */
const invisible =
  /[\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\u180E\uFEFF\u{E0000}-\u{E007F}]|[\u{E0100}-\u{E01EF}]/gu
/** A joiner between two emoji, or between letters of a script that needs it. */
const joined = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D(?=\p{Extended_Pictographic})/gu
const joinedLetters =
  /(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}\p{M}])[\u200C\u200D](?=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}])/gu
/** The flags of England, Scotland and Wales. */
const tagFlag = /\u{1F3F4}[\u{E0061}-\u{E007A}]{3,6}\u{E007F}/gu

/**
 * The text without characters that no one sees and that can carry a hidden text. Joiners of emoji and of scripts that need them
 * stay, and so do flags.
 */
export function removeInvisible(text: string): string {
  if (text.search(invisible) === -1) return text
  return text.replace(
    visibleOrNot,
    (character, visible: string | undefined) => visible ?? character.replace(invisible, ''),
  )
}

const visibleOrNot = new RegExp(
  `(${tagFlag.source}|${joined.source}|${joinedLetters.source})|${invisible.source}`,
  'gu',
)

/** The ids of the characters, each once, such as `invisible_unicode_U+200B`. */
export function findInvisibleCharacters(text: string): string[] {
  if (text.search(invisible) === -1) return []
  const suspicious = text
    .replace(/^\uFEFF/, '')
    .replace(joined, '')
    .replace(joinedLetters, '')
    .replace(tagFlag, '')
  const codes = new Set<number>()
  for (const [character] of suspicious.matchAll(invisible)) {
    codes.add(character.codePointAt(0) ?? 0)
    if (codes.size === maxInvisibleIds) break
  }
  return [...codes].map((code) => `invisible_unicode_U+${code.toString(16).toUpperCase().padStart(4, '0')}`)
}
