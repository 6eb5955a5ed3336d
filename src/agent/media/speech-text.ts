/**
 * Turns the Markdown of an answer into text that can be spoken. Pure, in linear time.
 */

export interface SpeechText {
  /** '' when there is nothing to say. */
  readonly text: string
  /** The text was longer than the limit. */
  readonly isCut: boolean
}

/** More of an answer is not examined. */
const maxExaminedChars = 50_000

/** @param maxChars in UTF-16 units */
export function toSpeech(markdown: string, maxChars: number): SpeechText {
  const lines: string[] = []
  let fence = ''
  for (const line of markdown.slice(0, maxExaminedChars).split(/\r\n|[\n\r]/)) {
    const mark = /^[ \t>]*(```+|~~~+)/.exec(line)?.[1] ?? ''
    if (fence === '' && mark !== '') fence = mark
    else if (fence !== '') fence = mark.startsWith(fence) ? '' : fence
    else lines.push(speakLine(line))
  }
  const text = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
    .toWellFormed()
  return text.length <= maxChars ? { text, isCut: false } : { text: beginningOf(text, maxChars), isCut: true }
}

/** The first private character of Unicode. */
const escapes = 0xe000

function speakLine(line: string): string {
  // A rule, or the line below the head of a table.
  if (/^[ \t]*(?:[-*_][ \t]*){3,}$/.test(line) || (line.includes('---') && /^[ \t:|-]+$/.test(line))) return ''
  const isRow = /^[ \t]*\|.*\|[ \t]*$/.test(line)
  const words = line
    // What is escaped is no markup.
    .replace(/\\([\\`*_{}[\]()#+.!~|-])/g, (_, character: string) =>
      String.fromCharCode(escapes + character.charCodeAt(0)),
    )
    .replace(/^[ \t]*(?:>[ \t]*)+/, '')
    .replace(/^[ \t]*#{1,6}[ \t]+/, '')
    .replace(/^[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?/, '')
    .replace(/!?\[([^[\]\n]{0,500})\]\([^)\n]{0,500}\)/g, '$1')
    .replace(/<(https?:[^<>\s]{0,500})>/g, '$1')
    .replace(/https?:\/\/(?:www\.)?([^\s/)>\]]{1,255})[^\s)>\]]*/g, speakAddress)
    .replace(/<\/?[a-z][^<>\n]{0,200}>/gi, '')
    .replace(/`+/g, '')
    .replace(/\*{1,3}(?=\S)|(?<=\S)\*{1,3}/g, '')
    .replace(/(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)/g, '')
    .replace(/~~/g, '')
    // Pictures in a text would be spoken with their long names.
    .replace(/[\p{Extended_Pictographic}\u{1f1e6}-\u{1f1ff}\u{fe0f}\u{200d}]+/gu, '')
    .replace(/[\ue000-\ue07f]/g, (character) => String.fromCharCode(character.charCodeAt(0) - escapes))
    .replace(/[ \t]{2,}/g, ' ')
    .trim()
  return isRow
    ? words
        .replace(/^\||\|$/g, '')
        .replace(/[ \t]*\|[ \t]*/g, ', ')
        .trim()
    : words
}

/** The host, with the mark that ends the sentence. */
function speakAddress(address: string, host: string): string {
  const last = address.slice(-1)
  return /[.,;:!?]/.test(last) && !host.endsWith(last) ? `${host}${last}` : host
}

/** Up to the end of a sentence, or else of a word. */
function beginningOf(text: string, maxChars: number): string {
  const cut = text.slice(0, maxChars).toWellFormed()
  const sentence = Math.max(...['. ', '! ', '? ', '\n', '。'].map((end) => cut.lastIndexOf(end)))
  if (sentence > maxChars / 2) return cut.slice(0, sentence + 1).trim()
  const word = cut.lastIndexOf(' ')
  return (word > maxChars / 2 ? cut.slice(0, word) : cut).trim()
}
