/**
 * Requests that Slack has not signed, or not for this moment, this body or this app. Each begins with a valid request.
 */
import { createHash, createHmac } from 'node:crypto'

export const signingSecret = '8f742231b10e8888abcd99yyyzzz85a5'
/** Milliseconds since 1970. */
export const slackNow = 1_531_420_618_000

export interface SlackRequest {
  readonly body: string
  /** Absent: without the header. */
  readonly timestamp?: string
  readonly signature?: string
}

const seconds = slackNow / 1_000
const body = '{"type":"event_callback","event":{"type":"message","text":"hi"}}'

/** The signature that Slack makes. */
function sign(text: string, { secret = signingSecret, at = String(seconds), algorithm = 'sha256' } = {}): string {
  return `v0=${createHmac(algorithm, secret).update(`v0:${at}:${text}`).digest('hex')}`
}

/** Correctly signed, but for another time. */
const at = (timestamp: string): SlackRequest => ({ body, timestamp, signature: sign(body, { at: timestamp }) })
export const validSlackRequest: SlackRequest = at(String(seconds))
const { signature = '' } = validSlackRequest
const digest = signature.slice(3)
const signed = (changes: Partial<SlackRequest>): SlackRequest => ({ ...validSlackRequest, ...changes })
const keyed = (text: string) => `v0=${createHmac('sha256', signingSecret).update(text).digest('hex')}`

export const slackForgeries: Readonly<Record<string, SlackRequest>> = {
  'no headers': { body },
  'no signature': { body, timestamp: String(seconds) },
  'no time': { body, signature },
  'an empty signature': signed({ signature: '' }),
  'an empty time': signed({ timestamp: '' }),
  'another body': signed({ body: body.replace('hi', 'ho') }),
  'a longer body': signed({ body: `${body}\n` }),
  'an empty body': signed({ body: '' }),
  'the same JSON, written differently': signed({ body: JSON.stringify(JSON.parse(body), null, 1) }),
  'a form with the same payload': signed({ body: `payload=${encodeURIComponent(body)}` }),
  'another time than the signed one': signed({ timestamp: String(seconds + 1) }),
  'a replay after five minutes': at(String(seconds - 301)),
  'a replay after a day': at(String(seconds - 86_400)),
  'a request from the future': at(String(seconds + 301)),
  'the time zero': at('0'),
  'a negative time': at(`-${seconds}`),
  'a time with a sign': at(`+${seconds}`),
  'a time in milliseconds': at(String(slackNow)),
  'a time with a fraction': at(`${seconds}.5`),
  'a time with an exponent': at('1.531420618e9'),
  'a time in hexadecimal': at(`0x${seconds.toString(16)}`),
  'a date': at(new Date(slackNow).toISOString()),
  'a time with a unit': at(`${seconds}s`),
  'two times': at(`${seconds}, ${seconds}`),
  'an endless time': at('9'.repeat(400)),
  'the secret of another app': signed({ signature: sign(body, { secret: 'a'.repeat(32) }) }),
  'an empty secret': signed({ signature: sign(body, { secret: '' }) }),
  'the secret in upper case': signed({ signature: sign(body, { secret: signingSecret.toUpperCase() }) }),
  'the token of the bot as the secret': signed({ signature: sign(body, { secret: `xoxb${'-1-a'}` }) }),
  'a signature of another version': signed({ signature: `v1=${digest}` }),
  'a signature without a version': signed({ signature: digest }),
  'a signature in upper case': signed({ signature: `v0=${digest.toUpperCase()}` }),
  'a signature that is cut off': signed({ signature: signature.slice(0, -1) }),
  'the first byte of a signature': signed({ signature: signature.slice(0, 5) }),
  'a signature with one digit more': signed({ signature: `${signature}0` }),
  'another last digit': signed({ signature: signature.slice(0, -1) + (signature.endsWith('0') ? '1' : '0') }),
  'only zeros': signed({ signature: `v0=${'0'.repeat(64)}` }),
  'two signatures': signed({ signature: `${signature}, ${signature}` }),
  'a wrong signature before the right one': signed({ signature: `v0=${'0'.repeat(64)},${signature}` }),
  'a signature in base64': signed({ signature: `v0=${Buffer.from(digest, 'hex').toString('base64')}` }),
  'a signature with SHA-1': signed({ signature: sign(body, { algorithm: 'sha1' }) }),
  'a signature with SHA-512': signed({ signature: sign(body, { algorithm: 'sha512' }) }),
  'a hash without a key': signed({
    signature: `v0=${createHash('sha256').update(`v0:${seconds}:${body}`).digest('hex')}`,
  }),
  'a signature of the body alone': signed({ signature: keyed(body) }),
  'a signature without the version in its text': signed({ signature: keyed(`${seconds}:${body}`) }),
  'the secret itself': signed({ signature: `v0=${signingSecret}` }),
}
