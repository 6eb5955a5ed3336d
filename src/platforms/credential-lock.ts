/**
 * The lock on the credentials of an account: one home at a time connects with the token of a bot. The operating system releases
 * it when the process ends for any reason.
 */
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ProcessEnvironment } from '../config/environment.ts'
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import { asRecord } from '../lib/json.ts'
import type { Logger } from '../lib/log.ts'
import { locateProfile } from '../lib/profiles.ts'
import type { PlatformAccount } from './accounts.ts'

export interface CredentialLock {
  release(): void
}

export interface CredentialLockDeps {
  /** The home of the gateway, absolute. */
  readonly home: string
  /** Of the process: HERMES_GATEWAY_LOCK_DIR, XDG_STATE_HOME and HOME say where the locks are. */
  readonly environment: ProcessEnvironment
  readonly pid: number
  /** Locks a file without waiting. Throws `home/locked` when another process holds it. */
  lockFile(path: string): CredentialLock
  readonly log: Logger
}

/**
 * Locks every required secret of the account. Without a directory for the locks it logs a warning and locks nothing: a gateway
 * that cannot connect would be the greater harm.
 * @throws HermesError platform/token-in-use, with the home and the process that hold it
 */
export function lockCredentials(account: PlatformAccount, deps: CredentialLockDeps): CredentialLock {
  const names = credentialNames(account)
  if (names.length === 0) return { release: () => undefined }
  const problems: string[] = []
  for (const directory of lockDirectories(deps)) {
    try {
      return lockAll(directory, names, account, deps)
    } catch (error) {
      if (isHermesError(error, 'platform/token-in-use')) throw error
      problems.push(messageOf(error))
    }
  }
  deps.log.warn(
    { event: 'platform.token_lock_unavailable', platform: account.platform.name, reasons: problems },
    'the token of the account cannot be locked; make sure that no other gateway uses it',
  )
  return { release: () => undefined }
}

function lockAll(
  directory: string,
  names: readonly string[],
  { platform, account }: PlatformAccount,
  { home, pid, lockFile }: CredentialLockDeps,
): CredentialLock {
  ensureDirectory(directory)
  const held: { readonly lock: CredentialLock; readonly holderFile: string }[] = []
  const release = () => {
    for (const { lock, holderFile } of held.splice(0)) {
      rmSync(holderFile, { force: true })
      lock.release()
    }
  }
  try {
    for (const name of names) {
      const holderFile = join(directory, `${name}.json`)
      const lock = lockUnlessHeld(join(directory, `${name}.lock`), holderFile, lockFile)
      held.push({ lock, holderFile })
      writeFileAtomic(holderFile, `${JSON.stringify({ home, pid, platform: platform.name, account })}\n`)
    }
  } catch (error) {
    release()
    throw error
  }
  return { release }
}

function lockUnlessHeld(path: string, holderFile: string, lockFile: CredentialLockDeps['lockFile']): CredentialLock {
  try {
    return lockFile(path)
  } catch (error) {
    if (!isHermesError(error, 'home/locked')) throw error
    throw new HermesError('platform/token-in-use', `${describeHolder(holderFile)} uses the token of this account.`, {
      cause: error,
    })
  }
}

/** The holder writes its file after it has taken the lock. */
function describeHolder(file: string): string {
  const { home, pid } = readHolder(file)
  return typeof home === 'string' && typeof pid === 'number'
    ? `The gateway of ${home} (process ${pid})`
    : 'Another gateway'
}

function readHolder(file: string): Readonly<Record<string, unknown>> {
  try {
    return asRecord(JSON.parse(readTextIfExists(file, 65_536) ?? '{}'))
  } catch {
    // The name of the holder is missing in the message then; the lock itself decides.
    return {}
  }
}

/** One name for each required secret: the hash of the secret and of what else identifies the account on its platform. */
function credentialNames({ platform, options }: PlatformAccount): string[] {
  const required = platform.options.filter(({ key }) => platform.required.includes(key))
  const identity = required.filter(({ secret }) => !secret).map(({ key }) => [key, options[key]])
  return required
    .filter(({ secret }) => secret)
    .map(({ key }) => {
      const hash = createHash('sha256').update(JSON.stringify([platform.name, identity, key, options[key]]))
      return `${platform.name}-${hash.digest('hex').slice(0, 32)}`
    })
}

/** The second one where the first cannot be written, as in a container. */
function lockDirectories({ home, environment }: CredentialLockDeps): readonly string[] {
  const { HERMES_GATEWAY_LOCK_DIR: configured, XDG_STATE_HOME: state, HOME: userHome } = environment
  const besideHomes = join(locateProfile(home).rootHome, 'locks')
  if (configured !== undefined) return [configured]
  if (state !== undefined) return [join(state, 'hermes', 'gateway-locks'), besideHomes]
  return userHome === undefined
    ? [besideHomes]
    : [join(userHome, '.local', 'state', 'hermes', 'gateway-locks'), besideHomes]
}
