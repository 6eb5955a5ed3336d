/**
 * The lock on the credentials of an account: one home at a time connects with the token of a bot. The operating system releases
 * it when the process ends for any reason.
 *
 * It is taken in two directories. The one in the root home is the same for all profiles, whatever the environment of the process
 * says; the one of the user is the same for separate homes.
 */
import { createHash } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import type { ProcessEnvironment } from '../config/environment.ts'
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import { asRecord, parseJson } from '../lib/json.ts'
import type { Logger } from '../lib/log.ts'
import { locateProfile } from '../lib/profiles.ts'
import type { PlatformAccount } from './accounts.ts'
import type { InstalledPlatform } from './registry.ts'

export interface CredentialLock {
  release(): void
}

/** What a lock needs to know of an account. */
export interface LockedAccount extends Pick<PlatformAccount, 'account' | 'options'> {
  readonly platform: Pick<InstalledPlatform, 'name' | 'options' | 'required'>
}

export interface CredentialLockDeps {
  /** The home of the gateway, absolute. */
  readonly home: string
  /** The environment of the process: HERMES_GATEWAY_LOCK_DIR, XDG_STATE_HOME and HOME say where the locks are. */
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
export function lockCredentials(account: LockedAccount, deps: CredentialLockDeps): CredentialLock {
  const names = credentialNames(account)
  const held: CredentialLock[] = []
  const release = () => {
    for (const lock of held.splice(0).reverse()) lock.release()
  }
  if (names.length === 0) return { release }
  const problems: string[] = []
  for (const directory of lockDirectories(deps)) {
    try {
      held.push(lockAll(directory, names, account, deps))
    } catch (error) {
      if (isHermesError(error, 'platform/token-in-use')) {
        release()
        throw error
      }
      problems.push(messageOf(error))
    }
  }
  if (held.length === 0)
    deps.log.warn(
      { event: 'platform.token_lock_unavailable', platform: account.platform.name, reasons: problems },
      'the token of the account cannot be locked; make sure that no other gateway uses it',
    )
  return { release }
}

function lockAll(
  directory: string,
  names: readonly string[],
  { platform, account }: LockedAccount,
  { home, pid, lockFile }: CredentialLockDeps,
): CredentialLock {
  ensureDirectory(directory)
  const held: { readonly lock: CredentialLock; readonly files: readonly string[] }[] = []
  const release = () => {
    for (const { lock, files } of held.splice(0)) {
      // While it is locked: `lockUnlessHeld` sees that a file that was waited for is gone.
      for (const file of files) rmSync(file, { force: true })
      lock.release()
    }
  }
  try {
    for (const name of names) {
      const holderFile = join(directory, `${name}.json`)
      const lockPath = join(directory, `${name}.lock`)
      held.push({ lock: lockUnlessHeld(lockPath, holderFile, lockFile), files: [holderFile, lockPath] })
      writeFileAtomic(holderFile, `${JSON.stringify({ home, pid, platform: platform.name, account })}\n`)
    }
  } catch (error) {
    release()
    throw error
  }
  return { release }
}

/** Each one means that another gateway has released the lock at this moment. */
const maxReplacements = 100

/** The holder removes the file before it releases the lock, so that a lock on a removed file may be obtained: it protects nothing. */
function lockUnlessHeld(path: string, holderFile: string, lockFile: CredentialLockDeps['lockFile']): CredentialLock {
  for (let attempt = 0; attempt < maxReplacements; attempt++) {
    const before = identityOf(path)
    const lock = lockOrThrow(path, holderFile, lockFile)
    if (before !== undefined && before === identityOf(path)) return lock
    lock.release()
  }
  throw new Error(`${path} is replaced again and again`)
}

/** Undefined without the file. The number of a removed file may be given to the next one, so its time counts, too. */
function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`
}

function lockOrThrow(path: string, holderFile: string, lockFile: CredentialLockDeps['lockFile']): CredentialLock {
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
    return asRecord(parseJson(readTextIfExists(file, 65_536) ?? ''))
  } catch {
    // The name of the holder is missing in the message then; the lock itself decides.
    return {}
  }
}

/** One name for each required secret: the hash of the secret and of what else identifies the account on its platform. */
function credentialNames({ platform, options }: LockedAccount): string[] {
  const required = platform.options.filter(({ key }) => platform.required.includes(key))
  const identity = required.filter(({ secret }) => !secret).map(({ key }) => [key, options[key]])
  return required
    .filter(({ secret }) => secret)
    .map(({ key }) => {
      const hash = createHash('sha256').update(JSON.stringify([platform.name, identity, key, options[key]]))
      return `${platform.name}-${hash.digest('hex').slice(0, 32)}`
    })
}

/** The first one is found by every profile. A directory that cannot be written is left out, as in a container. */
function lockDirectories({ home, environment }: CredentialLockDeps): readonly string[] {
  const { HERMES_GATEWAY_LOCK_DIR: configured = '', XDG_STATE_HOME: state = '', HOME: userHome = '' } = environment
  // A relative XDG_STATE_HOME is invalid (XDG Base Directory Specification).
  const stateHome = isAbsolute(state) ? state : join(userHome, '.local', 'state')
  const hasStateHome = isAbsolute(stateHome)
  const ofUser = configured !== '' ? configured : hasStateHome ? join(stateHome, 'hermes', 'gateway-locks') : undefined
  const ofHomes = join(locateProfile(home).rootHome, 'locks')
  return ofUser === undefined || resolve(ofUser) === resolve(ofHomes) ? [ofHomes] : [ofHomes, ofUser]
}
