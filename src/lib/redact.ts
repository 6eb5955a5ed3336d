/**
 * Takes secrets out of text: the ones that are known, in every form in which they travel, and what looks like one.
 *
 * Runs over every log line, so each pattern is anchored on a rare literal and bounded: time grows with the length only.
 * Ordinary text must come through untouched, or people stop trusting the log.
 */
import { findSecretRanges, type TextRange } from './redact-patterns.ts'

/** Gives the text without its secrets. Never throws. Works on finished JSON lines too: they stay JSON. */
export type Redactor = (text: string) => string

export interface RedactorOptions {
  /** The secrets known now; asked at each call, so that a new configuration counts at once. Shorter than 6 are ignored. */
  readonly secrets: () => readonly string[]
  /** Leaves alone what only looks like a secret: for text that must otherwise stay exact, such as the source somebody edits. */
  readonly knownOnly?: boolean
}

/** What stands where a secret was. */
const redactedText = '[redacted]'

const minSecretLength = 6

export function createRedactor({ secrets, knownOnly = false }: RedactorOptions): Redactor {
  let known: readonly string[] = []
  let pattern: RegExp | undefined
  return (text) => {
    const current = secrets()
    if (current !== known) {
      if (!sameItems(current, known)) pattern = buildPattern(current)
      known = current
    }
    // Both look at the untouched text: what one takes out must not hide from the other what is left of a secret.
    const ranges = knownOnly ? [] : findSecretRanges(text)
    if (pattern !== undefined && text.search(pattern) !== -1) {
      for (const match of text.matchAll(pattern)) ranges.push([match.index, match.index + match[0].length])
    }
    return ranges.length === 0 ? text : replaceRanges(text, ranges)
  }
}

function replaceRanges(text: string, ranges: TextRange[]): string {
  ranges.sort(([one], [other]) => one - other)
  let clean = ''
  let upTo = 0
  for (const [from, to] of ranges) {
    if (from >= upTo) clean += text.slice(upTo, from) + redactedText
    upTo = Math.max(upTo, to)
  }
  return clean + text.slice(upTo)
}

function sameItems(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index])
}

function buildPattern(secrets: readonly string[]): RegExp | undefined {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < minSecretLength) continue
    for (const form of encodedForms(secret)) if (form.length >= minSecretLength) forms.add(form)
  }
  if (forms.size === 0) return undefined
  // The longest first: a secret that contains another one goes as a whole.
  const longestFirst = [...forms].sort((one, other) => other.length - one.length)
  return new RegExp(longestFirst.map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g')
}

/** The secret itself, inside JSON, inside JSON inside JSON, inside a URL, and in base64. */
function encodedForms(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    percentEncoded(secret),
    percentEncoded(secret).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams({ s: secret }).toString().slice(2),
    ...base64Forms(Buffer.from(secret)),
  ]
}

/** A lone surrogate cannot be encoded. */
function percentEncoded(secret: string): string {
  return secret.isWellFormed() ? encodeURIComponent(secret) : secret
}

/**
 * Base64 looks different at each of the three positions a secret can have inside a longer text ("user:secret").
 * Only the letters that the neighbours cannot change are looked for.
 */
function base64Forms(secret: Buffer): string[] {
  const whole = secret.toString('base64')
  const forms = [whole.replace(/=+$/, '')]
  for (const before of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(before), secret])
      .toString('base64')
      .replace(/=+$/, '')
    const tail = (before + secret.length) % 3 === 0 ? 0 : 1
    const core = shifted.slice(before === 0 ? 0 : before + 1, shifted.length - tail)
    // Shorter pieces turn up in ordinary text.
    if (core.length >= 8) forms.push(core)
  }
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}
