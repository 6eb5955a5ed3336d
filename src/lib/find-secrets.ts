/**
 * Finds secrets in text: known secrets in every encoding in which they occur, and text that looks like a secret.
 *
 * Each pattern starts with a rare literal, and every quantifier that could match the same text twice is bounded, so that the
 * time grows linearly with the length.
 */

/** From (included) and to (excluded), in UTF-16 units. */
export type TextRange = readonly [from: number, to: number]

/** A shorter secret is found only where it stands alone: it occurs in everyday words. */
const minPartLength = 6
/** A shorter secret is not found: it occurs in everyday text. */
const minSecretLength = 4

/** Words that say that there is no secret. Without them, text about something else would be unreadable. */
const placeholders = /^(?:true|false|none|null|auto|dummy|empty|local|test)$/i

/** Whether a value of a key or a variable that holds a secret is removed from text. */
export function isFindableSecret(value: string): boolean {
  return value.length >= minSecretLength && (value.length >= minPartLength || !placeholders.test(value))
}

export interface SecretMatcher {
  /** Sorted by their beginning. */
  find(text: string): TextRange[]
  /** Where a secret may begin that the end of the text cuts off; the length of the text if there is none. */
  incompleteFrom(text: string): number
  /** The length of the longest form of a secret. */
  readonly maxLength: number
}

export const noSecrets: SecretMatcher = { find: () => [], incompleteFrom: ({ length }) => length, maxLength: 1 }

/** A shorter beginning of a secret says nothing, and ordinary text often ends like it. */
const minHeldBackLength = 4

/** Entries of the shift table; a power of two. */
const shiftTableSize = 16_384

/**
 * Searches for all forms of all secrets in one pass, in linear time (Wu and Manber, with blocks of two characters): a block
 * that begins no form and is not in the beginning of one skips several characters.
 * @param toText how a form occurs in the texts that are searched
 */
export function createSecretMatcher(secrets: readonly string[], toText = (form: string) => form): SecretMatcher {
  const findable = secrets.filter(isFindableSecret)
  const short = findable.filter(({ length }) => length < minPartLength)
  const matcher = createPartMatcher(new Set(findable.flatMap(encodedForms).filter(isPart).map(toText)))
  if (short.length === 0) return matcher
  const words = createWordFinder(new Set(short.flatMap(plainForms).map(toText)))
  const find = (text: string) => [...matcher.find(text), ...words(text)].sort(([a], [b]) => a - b)
  return { ...matcher, find, maxLength: Math.max(matcher.maxLength, minPartLength * 2) }
}

const isPart = ({ length }: { readonly length: number }) => length >= minPartLength

/**
 * Finds forms that stand alone: no letter, digit or `_` beside them, other than those of an escape sequence. A number is not found
 * where it may be a part of a time, an address, a version or a list, such as `"ms":4711,`.
 */
function createWordFinder(forms: ReadonlySet<string>): (text: string) => TextRange[] {
  const before = String.raw`(?<=^|[^\p{L}\p{N}_]|\\[bfnrt]|\[[\d;]{0,10}m)`
  const after = String.raw`(?![\p{L}\p{N}_])`
  const notInNumber = (form: string) =>
    /^\d+$/.test(form) ? String.raw`(?<![.:,[+-])${form}(?![.:,-]\d)` : RegExp.escape(form)
  const pattern = new RegExp(`${before}(?:${[...forms].map(notInNumber).join('|')})${after}`, 'gu')
  return (text) => [...text.matchAll(pattern)].map(({ index, 0: { length } }) => [index, index + length])
}

function createPartMatcher(forms: ReadonlySet<string>): SecretMatcher {
  if (forms.size === 0) return noSecrets
  // Longest first, so that a secret that contains another one is found as a whole.
  const longestFirst = [...forms].sort((a, b) => b.length - a.length)
  const maxLength = longestFirst[0]?.length ?? 0
  /** How many characters of the beginning of each form are in the table. More would fill it. */
  const window = Math.min(8, longestFirst.at(-1)?.length ?? 0)
  const shifts = new Uint8Array(shiftTableSize).fill(window - 1)
  const byStart = new Map<number, string[]>()
  for (const form of longestFirst) {
    const sameStart = byStart.get(blockAt(form, 0))
    if (sameStart === undefined) byStart.set(blockAt(form, 0), [form])
    else sameStart.push(form)
    for (let at = 0; at < window - 1; at++) {
      const index = shiftIndex(form, at)
      shifts[index] = Math.min(shifts[index] ?? 0, window - 2 - at)
    }
  }
  return {
    maxLength,
    find(text) {
      const ranges: TextRange[] = []
      for (let at = window - 2; at < text.length - 1; ) {
        const shift = shifts[shiftIndex(text, at)] ?? 0
        if (shift === 0) {
          const from = at - window + 2
          const secret = byStart.get(blockAt(text, from))?.find((form) => text.startsWith(form, from))
          if (secret !== undefined) ranges.push([from, from + secret.length])
        }
        at += shift || 1
      }
      return ranges
    },
    incompleteFrom(text) {
      const { length } = text
      for (let from = Math.max(0, length - maxLength + 1); from <= length - minHeldBackLength; from++) {
        const candidates = byStart.get(blockAt(text, from))
        if (candidates?.some((form) => form.length > length - from && form.startsWith(text.slice(from)))) return from
      }
      return length
    },
  }
}

function shiftIndex(text: string, at: number): number {
  return ((text.charCodeAt(at) << 7) ^ text.charCodeAt(at + 1)) & (shiftTableSize - 1)
}

/** Two UTF-16 units as one number. */
function blockAt(text: string, at: number): number {
  return text.charCodeAt(at) * 65_536 + text.charCodeAt(at + 1)
}

/** The secret itself, in JSON and in a URL. */
function plainForms(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), percentEncoded(secret)]
}

/** The secret itself and its encodings: JSON, JSON inside JSON, URL, base64, hexadecimal; and reversed. */
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
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('hex').toUpperCase(),
    [...secret].reverse().join(''),
    [...Buffer.from(secret).toString('base64').replace(/=+$/, '')].reverse().join(''),
  ]
}

/** `encodeURIComponent` throws for a lone surrogate. */
function percentEncoded(secret: string): string {
  return secret.isWellFormed() ? encodeURIComponent(secret) : secret
}

/**
 * Base64 depends on the position of the secret modulo 3 inside a longer text ("user:secret"). Only the characters that do
 * not depend on the neighbours are used.
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
    // Shorter pieces occur in ordinary text.
    if (core.length >= 8) forms.push(core)
  }
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}

/** The secret is the match without its first group, if there is one. */
interface SecretPattern {
  readonly pattern: RegExp
  /** The pattern is tried only if the text contains one of these, because a literal search is much cheaper. */
  readonly literals: readonly string[]
}

/** Names of fields whose value is always a secret: `token`, `bot_token`, `botToken`, `TELEGRAM_BOT_TOKEN`, `client-secret` ... */
const secretFieldNames = [
  '(?:[a-z0-9]{1,20}[-_]){0,4}[a-z]{0,20}(?:token|secret|password|passwd|passphrase|credential)',
  '(?:[a-z0-9]{1,20}[-_]){0,4}(?:api|access|private|signing|secret)[-_]?key',
  '(?:proxy-)?authorization',
  '(?:set-)?cookie',
].join('|')

const secretPatterns: readonly SecretPattern[] = [
  // Telegram bot tokens, bare or in /bot<token>/ of a URL.
  { pattern: /(?<!\d)\d{6,16}:[A-Za-z0-9_-]{30,}/g, literals: [':'] },
  // OpenAI, Anthropic and compatible providers.
  {
    pattern: /(?<![A-Za-z0-9])(sk-)(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{16,}/g,
    literals: ['sk-'],
  },
  { pattern: /(?<![A-Za-z0-9])xox[abceprs]-[A-Za-z0-9-]{8,}/g, literals: ['xox'] },
  { pattern: /(?<![A-Za-z0-9])xapp-[A-Za-z0-9-]{8,}/g, literals: ['xapp-'] },
  // GitHub, GitLab, Hugging Face, Groq, Google, AWS.
  {
    pattern: /(?<![A-Za-z0-9])(?:gh[opsur]_|github_pat_|glpat-|hf_|gsk_|AIza)[A-Za-z0-9_-]{20,}/g,
    literals: ['gh', 'glpat-', 'hf_', 'gsk_', 'AIza'],
  },
  { pattern: /(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}(?![A-Za-z0-9])/g, literals: ['AKIA'] },
  // JSON Web Tokens.
  {
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
    literals: ['eyJ'],
  },
  // Discord: user id, time and signature in base64.
  {
    pattern: /(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9_-]{22,30}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,45}(?![A-Za-z0-9_-])/g,
    literals: ['.'],
  },
  // Headers such as `Authorization: Bearer ...`, and bearer tokens elsewhere.
  {
    pattern:
      /(authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|bot|token|digest|apikey)\s{1,4})[^\s"',;\\]{4,}/gi,
    literals: ['uthorization', 'UTHORIZATION'],
  },
  {
    pattern:
      /((?:authorization|x-[a-z-]{0,20}(?:key|token|secret))["']?\s{0,4}[:=]\s{0,4}["']?)(?=[^\s"',;\\]{0,80}\d)[^\s"',;\\]{12,}/gi,
    literals: ['uthorization', 'UTHORIZATION', 'x-', 'X-'],
  },
  {
    pattern: /\b(bearer\s{1,4})(?=[A-Za-z._~+/-]{0,80}\d)[A-Za-z0-9._~+/-]{12,}={0,2}/gi,
    literals: ['earer', 'EARER'],
  },
  // Query parameters of a URL.
  {
    pattern:
      /([?&;](?:[a-z]{1,20}[-_])?(?:key|token|apikey|password|passwd|pwd|secret|sig|signature|auth)=)[^\s&;"'#<>\\[\]]+/gi,
    literals: ['='],
  },
  // The same outside a URL, if the value contains a digit.
  {
    pattern:
      /(?<![A-Za-z0-9])((?:[a-z]{1,20}[-_]){0,3}(?:api_?key|token|secret)\s?(?:=|:(?=\s?["']))\s?["']?)(?=[^\s"'&,;]{0,40}\d)[^\s"'&,;\\[\]]{6,}/gi,
    literals: ['=', ': "', ": '"],
  },
  {
    pattern:
      /(?<![A-Za-z0-9])((?:[a-z]{1,20}[-_]){0,3}(?:password|passwd)\s?(?:=|:(?=\s?["']))\s?["']?)[^\s"'&,;\\[\]]{4,}/gi,
    literals: ['=', ': "', ": '"],
  },
  // URLs that grant access: webhooks of Slack, webhooks and interactions of Discord.
  { pattern: /(\/services\/T[A-Z0-9]{6,20}\/B[A-Z0-9]{6,20}\/)[A-Za-z0-9]{16,}/g, literals: ['/services/T'] },
  {
    pattern: /(\/(?:webhooks|interactions)\/\d{6,24}\/)[A-Za-z0-9_-]{20,}/g,
    literals: ['/webhooks/', '/interactions/'],
  },
  // user:password@host
  { pattern: /(:\/\/[^\s/:@"'\\]{0,100}:)[^\s/@"'\\]{1,200}(?=@)/g, literals: ['@'] },
  // JSON fields, also in JSON that is a string inside JSON.
  {
    pattern: new RegExp(`("(?:${secretFieldNames})"\\s{0,4}:\\s{0,4}")(?:[^"\\\\]|\\\\.){4,}(?=")`, 'gi'),
    literals: ['":', '" :'],
  },
  {
    pattern: new RegExp(`(\\\\{1,7}"(?:${secretFieldNames})\\\\{1,7}"\\s{0,4}:\\s{0,4}\\\\{1,7}")[^"\\\\]{4,}`, 'gi'),
    literals: ['\\"'],
  },
  // The value of a field `key` is a secret only if it looks like one, because session keys have this name too.
  {
    pattern: /("key"\s{0,4}:\s{0,4}")(?=[A-Za-z_-]{0,80}\d)(?=[0-9_-]{0,80}[A-Za-z])[A-Za-z0-9_-]{16,}(?=")/g,
    literals: ['"key"'],
  },
]

/** Ranges of the text that look like a secret. They may overlap and are not sorted. */
export function findSecretRanges(text: string): TextRange[] {
  const ranges = findPrivateKeys(text)
  for (const { pattern, literals } of secretPatterns) {
    if (!literals.some((literal) => text.includes(literal)) || text.search(pattern) === -1) continue
    for (const match of text.matchAll(pattern)) {
      ranges.push([match.index + (match[1] ?? '').length, match.index + match[0].length])
    }
  }
  return ranges
}

/** Without a regular expression: it would search the rest of the text again for each beginning. */
function findPrivateKeys(text: string): TextRange[] {
  const ranges: TextRange[] = []
  if (!text.includes('-----BEGIN ')) return ranges
  const lastEnd = text.lastIndexOf('-----END ')
  let upTo = 0
  for (const { index } of text.matchAll(/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g)) {
    if (index < upTo) continue
    // A truncated key ends with its JSON string or the text.
    upTo =
      index > lastEnd
        ? indexAfter(text, '"', index, 0)
        : indexAfter(text, '-----', text.indexOf('-----END ', index) + 9, 5)
    ranges.push([index, upTo])
  }
  return ranges
}

function indexAfter(text: string, literal: string, from: number, skip: number): number {
  const index = text.indexOf(literal, from)
  return index === -1 ? text.length : index + skip
}
