/**
 * What secrets look like when nobody told us about them. Used by `redact.ts`, and by plugins that put something of their own
 * in the place of a secret.
 *
 * Every quantifier that could run twice over the same text is bounded, and a pattern starts only where the
 * character before cannot belong to it.
 */

/** From (included) and to (excluded), in UTF-16 units. */
export type TextRange = readonly [from: number, to: number]

/** A secret is what the pattern matches after its first group, if it has one. */
interface SecretPattern {
  readonly pattern: RegExp
  /** A rule is tried only when one of these is in the text: searching a literal is far cheaper than matching. */
  readonly literals: readonly string[]
}

/** Names of fields whose text is always a secret: `token`, `bot_token`, `botToken`, `TELEGRAM_BOT_TOKEN`, `client-secret` … */
const secretFieldNames = [
  '(?:[a-z0-9]{1,20}[-_]){0,4}[a-z]{0,20}(?:token|secret|password|passwd|passphrase|credential)',
  '(?:[a-z0-9]{1,20}[-_]){0,4}(?:api|access|private|signing|secret)[-_]?key',
  '(?:proxy-)?authorization',
  '(?:set-)?cookie',
].join('|')

const secretPatterns: readonly SecretPattern[] = [
  // Telegram bot tokens, bare or in /bot<token>/ of a URL.
  { pattern: /(?<!\d)\d{6,16}:[A-Za-z0-9_-]{30,}/g, literals: [':'] },
  // OpenAI, Anthropic and those who copied the form.
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
  // Headers: `Authorization: Bearer …`, and a bearer token wherever it stands.
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
  // The same outside a URL, where the value does not look like a word.
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
  // Addresses that are a secret themselves: webhooks of Slack, webhooks and interactions of Discord.
  { pattern: /(\/services\/T[A-Z0-9]{6,20}\/B[A-Z0-9]{6,20}\/)[A-Za-z0-9]{16,}/g, literals: ['/services/T'] },
  {
    pattern: /(\/(?:webhooks|interactions)\/\d{6,24}\/)[A-Za-z0-9_-]{20,}/g,
    literals: ['/webhooks/', '/interactions/'],
  },
  // user:password@host
  { pattern: /(:\/\/[^\s/:@"'\\]{0,100}:)[^\s/@"'\\]{1,200}(?=@)/g, literals: ['@'] },
  // JSON fields, plain and inside a JSON text inside a JSON text.
  {
    pattern: new RegExp(`("(?:${secretFieldNames})"\\s{0,4}:\\s{0,4}")(?:[^"\\\\]|\\\\.){4,}(?=")`, 'gi'),
    literals: ['":', '" :'],
  },
  {
    pattern: new RegExp(`(\\\\{1,7}"(?:${secretFieldNames})\\\\{1,7}"\\s{0,4}:\\s{0,4}\\\\{1,7}")[^"\\\\]{4,}`, 'gi'),
    literals: ['\\"'],
  },
  // A field called just "key" is a secret only if it looks like one: session keys are called so too.
  {
    pattern: /("key"\s{0,4}:\s{0,4}")(?=[A-Za-z_-]{0,80}\d)(?=[0-9_-]{0,80}[A-Za-z])[A-Za-z0-9_-]{16,}(?=")/g,
    literals: ['"key"'],
  },
]

/** Where the text holds what looks like a secret. Ranges may overlap and come in no order. */
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

/** By hand: an expression that looks for the end of each beginning would read the rest again and again. */
function findPrivateKeys(text: string): TextRange[] {
  const ranges: TextRange[] = []
  if (!text.includes('-----BEGIN ')) return ranges
  const lastEnd = text.lastIndexOf('-----END ')
  let upTo = 0
  for (const { index } of text.matchAll(/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g)) {
    if (index < upTo) continue
    // A key that is cut off is one all the same; a quote ends the JSON string it stands in.
    upTo =
      index > lastEnd
        ? indexAfter(text, '"', index, 0)
        : indexAfter(text, '-----', text.indexOf('-----END ', index) + 9, 5)
    ranges.push([index, upTo])
  }
  return ranges
}

function indexAfter(text: string, literal: string, from: number, skip: number): number {
  const found = text.indexOf(literal, from)
  return found === -1 ? text.length : found + skip
}
