/**
 * The gateway's bearer token: `gateway.token` in the home, made once, readable by its owner alone.
 *
 * The file is read again for every request that shows a token, so that a rotated token dies at once.
 */
import {
  chmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { type RandomBytes, systemRandom } from '../lib/ids.ts'
import type { Logger } from '../lib/log.ts'

const minTokenChars = 16

export interface TokenDeps {
  /** `$HERMES_HOME`; it must exist. */
  readonly home: string
  /** `http.token` of the config; it replaces the file, which is then not touched. */
  readonly configured?: string | undefined
  readonly log: Logger
  readonly random?: RandomBytes
}

/**
 * Makes the token at the first start, mends the rights of its file, and returns a function that gives the token of
 * this moment. Both throw `http/token-unusable` when there is no usable token.
 */
export function openGatewayToken({ home, configured, log, random = systemRandom }: TokenDeps): () => string {
  if (configured !== undefined) {
    const token = validateToken(configured, '`http.token`')
    return () => token
  }
  const file = tokenPath(home)
  if (restrictPermissions(file, log) === 'missing') createTokenFile(file, random)
  readGatewayToken(home)
  return () => readGatewayToken(home)
}

/** The token in the home, for commands that talk to a running daemon. Throws `http/token-unusable`. */
export function readGatewayToken(home: string): string {
  const file = tokenPath(home)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new HermesError('http/token-unusable', `${file}: ${messageOf(cause)}`, { cause })
  }
  return validateToken(text.trim(), file)
}

function tokenPath(home: string): string {
  return join(home, 'gateway.token')
}

/** Header values hold visible ASCII only; anything else could never be sent. */
function validateToken(token: string, where: string): string {
  if (token.length < minTokenChars) {
    throw new HermesError(
      'http/token-unusable',
      `${where} holds ${token.length} characters, ${minTokenChars} are needed.`,
    )
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new HermesError('http/token-unusable', `${where} holds characters that a header cannot carry.`)
  }
  return token
}

/** Takes the rights of group and others away, since whoever can read the file can command the agent. */
function restrictPermissions(file: string, log: Logger): 'present' | 'missing' {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (cause) {
    if (systemCode(cause) === 'ENOENT') return 'missing'
    throw new HermesError('http/token-unusable', `${file}: ${messageOf(cause)}`, { cause })
  }
  let mode: number
  try {
    mode = fstatSync(descriptor).mode & 0o777
  } finally {
    closeSync(descriptor)
  }
  if ((mode & 0o077) === 0) return 'present'
  const was = mode.toString(8).padStart(4, '0')
  try {
    chmodSync(file, 0o600)
    log.warn(
      { file, was },
      'gateway.token could be read by others; its mode is 0600 now. Delete it to get a new token.',
    )
  } catch (cause) {
    log.warn({ file, was, err: cause }, 'gateway.token can be read by others and its mode could not be changed')
  }
  return 'present'
}

/**
 * Writes the whole token beside the file and links it into place: nobody ever reads a half written token, and a token
 * that somebody else made meanwhile stays.
 */
function createTokenFile(file: string, random: RandomBytes): void {
  const token = Buffer.from(random(32)).toString('base64url')
  const draft = `${file}.${Buffer.from(random(6)).toString('hex')}.new`
  try {
    const descriptor = openSync(draft, 'wx', 0o600)
    try {
      writeSync(descriptor, `${token}\n`)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    linkSync(draft, file)
  } catch (cause) {
    if (systemCode(cause) === 'EEXIST') return
    throw new HermesError('http/token-unusable', `${file}: ${messageOf(cause)}`, { cause })
  } finally {
    removeDraft(draft)
  }
}

function removeDraft(draft: string): void {
  try {
    unlinkSync(draft)
  } catch (cause) {
    if (systemCode(cause) !== 'ENOENT') throw cause
  }
}
