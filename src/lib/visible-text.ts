/**
 * Makes a text fit to be shown, in one line where that is asked. Removes escape sequences for terminals, and makes characters visible that change how a text is shown,
 * or that cannot be seen: control characters, marks of the writing direction, characters without width, and the tag characters
 * that can hide a whole text.
 */

/** Line breaks and tabs stay. Variation selectors of emoji stay, too. */
const hidden = [
  // Control characters.
  String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f`,
  // Marks of the writing direction.
  String.raw`\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`,
  // Without width, or blank.
  String.raw`\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164\ufeff\uffa0`,
  String.raw`\ufff9-\ufffb\u{1d173}-\u{1d17a}`,
  // Tags and variation selectors that can carry a text.
  String.raw`\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}`,
].join('')
const hiddenCharacter = new RegExp(`[${hidden}]`, 'u')
/** A flag of a part of a country: a black flag, at most six tags, and the end tag. */
const flag = String.raw`\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{2,6}\u{e007f}`
const flagsAndRuns = new RegExp(String.raw`${flag}|([${hidden}])\1*`, 'gu')
/** Marks that texts in Arabic and Hebrew need. They turn nothing around by themselves. */
const directionMarks = /^[\u061c\u200e\u200f]$/
/** Joiners are part of a letter in some scripts, and of many emoji. */
const joiner = /^(?:\u200c|\u200d)$/
const joined = /\p{Extended_Pictographic}|\p{M}|\p{Emoji_Modifier}|(?!\p{Script=Latin})\p{L}/u

export interface VisibleTextOptions {
  /** Keeps single marks of the writing direction, as the text of a message needs them. */
  readonly keepsMarks?: boolean
  /** Escapes a character as JSON does, in UTF-16 units: JSON stays valid. */
  readonly asJson?: boolean
}

/** Replaces each such character by its escape, such as `\u202e`; a run of one character by `\u202e×10000`. Linear time. */
export function toVisibleText(text: string, { keepsMarks = false, asJson = false }: VisibleTextOptions = {}): string {
  if (!hiddenCharacter.test(text)) return text
  return text.replace(flagsAndRuns, (run: string, character: string | undefined, at: number) => {
    if (character === undefined) return run
    if (run === character) {
      if (keepsMarks && directionMarks.test(character)) return run
      if (joiner.test(character) && isJoined(text, at)) return run
    }
    const count = run.length / character.length
    const escaped = asJson ? unitsOf(character) : escapeOf(character)
    return count < 3 ? escaped.repeat(count) : `${escaped}×${count}`
  })
}

function isJoined(text: string, at: number): boolean {
  const before = text.codePointAt(at - 2)
  const previous = before !== undefined && before > 0xffff ? String.fromCodePoint(before) : text.charAt(at - 1)
  const next = String.fromCodePoint(text.codePointAt(at + 1) ?? 0)
  return joined.test(previous) && joined.test(next)
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const digits = code.toString(16).padStart(4, '0')
  return code > 0xffff ? `\\u{${digits}}` : `\\u${digits}`
}

function unitsOf(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

/**
 * Control sequences (colours, movements), strings such as titles and links with their end, and short sequences. No quantifier
 * crosses the next escape character, so that the time grows linearly; that of `stripVTControlCharacters` of Node does not.
 */
const escapeSequences = new RegExp(
  [
    String.raw`(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]`,
    String.raw`(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)`,
    String.raw`\u001b[ -/]*[0-~]`,
  ].join('|'),
  'g',
)

/** The text without escape sequences. Other control characters, line breaks and tabs stay. */
export function stripTerminalEscapes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  return /[\u001b\u0090-\u009f]/.test(text) ? text.replace(escapeSequences, '') : text
}

/** An untrusted text as one line, in which characters that cannot be seen are escapes. */
export function toSingleLine(text: string): string {
  return toVisibleText(text.replace(/\s+/g, ' '), { keepsMarks: true }).trim()
}

/** The lines of a text of others, as they are. A lone carriage return is shown: what follows it would cover what stands before it. */
export function toVisibleLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => toVisibleText(line, { keepsMarks: true }).replaceAll('\r', '\\r'))
}

/** Removes control characters other than tabs and line breaks, and characters that change the writing direction. */
export function stripControlCharacters(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, '')
}

/** White space and line breaks become single blanks. For a text that may hold secrets see `toShortLine`. */
export function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** At most `maxChars` code points; the last one of a shortened text is an ellipsis. */
export function shorten(text: string, maxChars: number): string {
  // A code point has at most two UTF-16 units.
  const characters = [...text.slice(0, maxChars * 2 + 2)]
  return characters.length <= maxChars ? text : `${characters.slice(0, maxChars - 1).join('')}…`
}
