/**
 * The bearer token of the gateway: the file `gateway.token` in the home directory, created once and readable only by its owner.
 *
 * Every request with a token looks at the file, and reads it again when it has changed: a replaced token is invalid immediately.
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
import { createFileMemo } from '../lib/file-memo.ts'
import { systemRandom } from '../lib/ids.ts'
import type { Logger } from '../lib/log.ts'

const minTokenChars = 16

/**
 * Creates the token at the first start, restricts the permissions of its file, and returns a function that reads the current
 * token. Both throw `http/token-unusable` if there is no valid token.
 * @param home `$HERMES_HOME`; it must exist
 * @param configured `http.token` of the configuration; the file is then not used
 */
export function openGatewayToken(home: string, configured: string | undefined, log: Logger): () => string {
  if (configured !== undefined) {
    const token = validateToken(configured, '`http.token`')
    return () => token
  }
  const file = tokenPath(home)
  if (restrictPermissions(file, log) === 'missing') createTokenFile(file)
  const read = createFileMemo<string>(1)
  const current = () =>
    read(file, (lookAt) => {
      lookAt(file)
      return readGatewayToken(home)
    })
  current()
  return current
}

/** The token in the home directory, for commands that call a running gateway. Throws `http/token-unusable`. */
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

/** A header value can contain only visible ASCII. */
function validateToken(token: string, source: string): string {
  if (token.length < minTokenChars) {
    throw new HermesError(
      'http/token-unusable',
      `${source} has ${token.length} characters; at least ${minTokenChars} are required.`,
    )
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new HermesError('http/token-unusable', `${source} contains characters that are not allowed in a header.`)
  }
  return token
}

/** Removes the permissions of group and others, because a user who can read the token controls the agent. */
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
      { event: 'http.token_permissions_fixed', file, was },
      'other users could read gateway.token; its mode is now 0600. Delete the file to create a new token',
    )
  } catch (cause) {
    log.warn(
      { event: 'http.token_permissions_unsafe', file, was, err: cause },
      'other users can read gateway.token, and its mode could not be changed',
    )
  }
  return 'present'
}

/**
 * Writes the token to a temporary file and links it to its name, so that no process reads a partial token and a token that
 * another process created meanwhile stays.
 */
function createTokenFile(file: string): void {
  const token = Buffer.from(systemRandom(32)).toString('base64url')
  const temporary = `${file}.${Buffer.from(systemRandom(6)).toString('hex')}.new`
  try {
    const descriptor = openSync(temporary, 'wx', 0o600)
    try {
      writeSync(descriptor, `${token}\n`)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    linkSync(temporary, file)
  } catch (cause) {
    if (systemCode(cause) === 'EEXIST') return
    throw new HermesError('http/token-unusable', `${file}: ${messageOf(cause)}`, { cause })
  } finally {
    removeTemporary(temporary)
  }
}

function removeTemporary(path: string): void {
  try {
    unlinkSync(path)
  } catch (cause) {
    if (systemCode(cause) !== 'ENOENT') throw cause
  }
}
