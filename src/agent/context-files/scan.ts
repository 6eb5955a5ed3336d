/**
 * Scans text that becomes part of a prompt for instructions to the model (contract §4.11).
 *
 * It finds known wording only. What the model may cause is decided by roles, approvals and the sandbox.
 */

import { setImmediate } from 'node:timers/promises'
import { decodeBase64, joinSpacedLetters, readDigitsAsLetters } from './hidden-text.ts'
import { findInvisibleCharacters } from './invisible-text.ts'
import { type ScanPattern, type ScanScope, scanPatterns, scanScopes } from './scan-patterns.ts'

export type { ScanScope } from './scan-patterns.ts'

/** The rest of a longer text is not scanned by `scan`. Callers cut texts to less, or use `scanLongText`. */
export const maxScannedChars = 65_536

/**
 * Returns the ids of what was found, each once, in the order of the contract: `prompt_injection` …, then
 * `invisible_unicode_U+XXXX`. Empty for harmless text. Takes time linear in the length.
 */
export function scan(text: string, scope: ScanScope): string[] {
  const scanned = text.slice(0, maxScannedChars)
  const folded = fold(scanned)
  const deepest = scanScopes.indexOf(scope)
  const patterns = scanPatterns.filter((pattern) => scanScopes.indexOf(pattern.scope) <= deepest)
  const hidden = [readDigitsAsLetters(folded), joinSpacedLetters(toOneLine(folded)), fold(decodeBase64(scanned))]
  const findings = new Set(
    [folded, ...hidden.filter((variant) => variant !== '')].flatMap((variant) => findPatterns(patterns, variant)),
  )
  // The order of the patterns.
  const ids = [...new Set(patterns.map(({ id }) => id))].filter((id) => findings.has(id))
  return [...ids, ...findInvisibleCharacters(scanned)]
}

/** Longer than any match of a pattern. */
const overlapChars = 2_048

/** Works like `scan`, for texts of any length: other work goes on between two parts. */
export async function scanLongText(text: string, scope: ScanScope): Promise<string[]> {
  const findings = new Set<string>()
  for (let at = 0; ; at += maxScannedChars - overlapChars) {
    for (const id of scan(text.slice(at, at + maxScannedChars), scope)) findings.add(id)
    if (at + maxScannedChars >= text.length) return [...findings]
    await setImmediate()
  }
}

function findPatterns(patterns: readonly ScanPattern[], folded: string): string[] {
  const flat = toOneLine(folded)
  return patterns.filter((pattern) => matches(pattern, pattern.parts.length === 1 ? flat : folded)).map(({ id }) => id)
}

function toOneLine(text: string): string {
  return text.replaceAll('\n', ' ')
}

/** What replaces a blocked file. `file` is its name. */
export function blockedText(file: string, ids: readonly string[]): string {
  return `[BLOCKED: ${file} contained potential prompt injection (${ids.join(', ')}). Content not loaded.]`
}

/** Searches each line once: the first match of a part leaves the most text for the next one. */
function matches({ parts: [first, ...rest] }: ScanPattern, text: string): boolean {
  if (first === undefined) return false
  first.lastIndex = 0
  for (let match = first.exec(text); match !== null; match = first.exec(text)) {
    if (rest.length === 0) return true
    const end = text.indexOf('\n', match.index)
    const line = text.slice(match.index + match[0].length, end === -1 ? text.length : end)
    let at = 0
    const all = rest.every((part) => {
      part.lastIndex = at
      const hit = part.exec(line)
      at = part.lastIndex
      return hit !== null
    })
    if (all) return true
    if (end === -1) return false
    first.lastIndex = end
  }
  return false
}

/** Normalisation takes quadratic time for long runs of combining marks. */
const markRun = /(\p{M}{4})\p{M}+/gu

/** Writes the same words in the same way. Line breaks stay. */
function fold(text: string): string {
  const plain = text.includes('&#') ? text.replace(characterReference, toCharacter) : text
  return (
    (plain.search(/[\u0080-\uFFFF]/) === -1 ? plain : foldUnicode(plain))
      .toLowerCase()
      .replace(/[*`]+|,(?= )/g, '')
      // What is one space or one line break already is not replaced: that takes time.
      .replace(/ [^\S\n]+|[^\S\n ][^\S\n]*/g, ' ')
      .replace(/ \n[ \n]*|\n[ \n]+/g, '\n')
      // A word that is divided at the end of a line.
      .replace(/(?<=[a-z])-\n(?=[a-z])/g, '')
  )
}

/** `&#73;` and `&#x49;` */
const characterReference = /&#(?:x([\da-f]{1,6})|(\d{1,7}));?/gi

function toCharacter(reference: string, hexadecimal: string | undefined, decimal: string | undefined): string {
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : reference
}

/** Letters lose their accents: patterns are written without them. */
function foldUnicode(text: string): string {
  const plain = text.toWellFormed().replace(nonAsciiRun, foldRun)
  return plain.search(foreignLetter) === -1 ? plain : plain.replace(disguised, toLatin)
}

const nonAsciiRun = /[\u0080-\u{10FFFF}]+/gu

function foldRun(run: string): string {
  return (
    run
      .replace(blankLetter, ' ')
      .replace(/\p{Default_Ignorable_Code_Point}+/gu, '')
      .replace(markRun, '$1')
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .replace(smallCapital, (letter) => smallCapitals.get(letter) ?? letter)
      // The syllables of Korean.
      .normalize('NFC')
  )
}

/** Letters that look like a space. */
const blankLetter = /[\u115F\u1160\u2800\u3164\uFFA0]+/g
const smallCapital = /[\u0262-\u029F\u1D00-\u1D22\uA731]/g
const smallCapitals = new Map([...'ᴀaʙbᴄcᴅdᴇeɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz'.matchAll(/(.)(.)/gu)].map(pairOf))

function pairOf([, letter = '', latin = '']: RegExpMatchArray): [string, string] {
  return [letter, latin]
}

const foreignLetter = /[\u0370-\u04FF]/
/** Next to a Latin letter: a word with letters of two scripts is disguised. */
const disguised = /(?<=[A-Za-z])[\u0370-\u04FF]{1,40}|[\u0370-\u04FF]{1,40}(?=[A-Za-z])/g
/** Letters of Greek and Cyrillic that look like Latin ones, each followed by that one. */
const lookalikes = new Map(
  [
    ...'аaеeоoрpсcуyхxіiјjѕsһhԁdАAВBЕEЅSІIЈJКKМMНHОOРPСCТTУYХXαaοoυuνvρpιiκkτtΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧX'.matchAll(
      /(.)(.)/gu,
    ),
  ].map(pairOf),
)

function toLatin(letters: string): string {
  return letters.replace(/./g, (letter) => lookalikes.get(letter) ?? letter)
}
