/**
 * Pairing (contract §3.10): a person without access gets a code, and an owner approves it. The rules are those of Hermes, and
 * so are the files. One process writes them: the daemon, or a command that holds the lock of the home.
 *
 * Times come from the clock of the machine, which may jump. A request from the future has expired; a lock never ends later
 * than one hour from now.
 */
import { asNumber, isRecord } from '../lib/json.ts'
import { createCode, type HashedCode, hashCode, matchesCode, normalizeCode, type RandomBytes } from './codes.ts'
import { damagedPlatform, type Entries, fileOf, limitsFile, type PairingFiles } from './pairing-files.ts'
import {
  clockToleranceSeconds,
  createPairingLimits,
  type FailedApproval,
  failuresKey,
  maxFailures,
  requestIntervalSeconds,
} from './pairing-limits.ts'

/** Seconds, as in the files. */
export const codeSeconds = 3_600
const maxPendingRequests = 3
const maxNameChars = 200

export interface PairingRequest {
  readonly platform: string
  /** 16 hexadecimal digits. */
  readonly requestId: string
  readonly userId: string
  readonly userName: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface PairedPerson {
  readonly platform: string
  readonly userId: string
  readonly userName: string
  /** Milliseconds since 1970; 0 if the file does not say. */
  readonly approvedAt: number
}

export interface PairingLock {
  readonly platform: string
  /** Milliseconds since 1970. */
  readonly until: number
}

export interface PairingList {
  readonly pending: readonly PairingRequest[]
  readonly approved: readonly PairedPerson[]
  /** Platforms on which no code can be approved now, after too many wrong ones. */
  readonly locked: readonly PairingLock[]
  /** Names of damaged files that were kept. */
  readonly damaged: readonly string[]
}

export type RequestResult =
  | { readonly status: 'created'; readonly code: string; readonly requestId: string }
  /** The person has asked within ten minutes. */
  | { readonly status: 'limited' }
  /** Three people wait on this platform. */
  | { readonly status: 'full' }
  | { readonly status: 'locked' }

export type ApprovalResult =
  | { readonly status: 'approved'; readonly userId: string; readonly userName: string }
  | FailedApproval

/** The people whom an owner has approved. */
export interface PairedPeople {
  /** User ids by platform. */
  readonly users: ReadonlyMap<string, ReadonlySet<string>>
  /** Platforms whose list was damaged, so that it is not known who of the allow list was paired. */
  readonly damaged: ReadonlySet<string> | 'all'
}

export interface Pairing {
  /** The request of a person that waits, if there is one. */
  pendingOf(platform: string, userId: string): PairingRequest | undefined
  request(person: { readonly platform: string; readonly userId: string; readonly userName: string }): RequestResult
  /** A new code for a request whose first code was never sent. Undefined when the request has ended. */
  renew(platform: string, requestId: string): string | undefined
  /**
   * A new code for a request whose code the person may have lost, at most once in ten minutes. The request ends when it would
   * have ended. Undefined within ten minutes, while codes are locked, and when the request has ended.
   */
  replaceCode(platform: string, requestId: string): string | undefined
  /** @param text a code, or the id of a request */
  approve(platform: string, text: string): ApprovalResult
  /** False if the person is not paired. */
  revoke(platform: string, userId: string): boolean
  /** Ends one request that waits. Undefined if there is none. @param text the id of the user, or of the request */
  deny(platform: string, text: string): PairingRequest | undefined
  /** Ends the requests that wait; returns how many. */
  clearPending(platform?: string): number
  list(): PairingList
  people(): PairedPeople
}

interface StoredRequest extends HashedCode {
  readonly user_id: string
  readonly user_name: string
  /** Seconds since 1970. */
  readonly created_at: number
}

/** Every function throws `pairing/files-unusable`; nothing has changed then, or a part that the next call completes. */
export function createPairing(files: PairingFiles, clock: () => number, randomBytes: RandomBytes): Pairing {
  const seconds = () => clock() / 1_000
  const { lockedUntil, recordFailure, writeLimits } = createPairingLimits(files, seconds)

  function pendingIn(platform: string): Map<string, StoredRequest> {
    const now = seconds()
    const live = new Map<string, StoredRequest>()
    for (const [id, value] of files.read(fileOf(platform, 'pending'))) {
      const request = toRequest(value)
      if (request !== undefined && isWithin(now - request.created_at, codeSeconds)) live.set(id, request)
    }
    return live
  }

  function isLimited(platform: string, userId: string, limits: Entries): boolean {
    const last = limits.get(`${platform}:${userId}`)
    return last !== undefined && Math.abs(seconds() - asNumber(last)) < requestIntervalSeconds
  }

  function finishApproval(platform: string, requestId: string, limits: Entries): ApprovalResult {
    const pending = pendingIn(platform)
    const request = pending.get(requestId)
    if (request === undefined) return { status: 'unknown', attemptsLeft: maxFailures }
    const approved = files.read(fileOf(platform, 'approved'))
    approved.set(request.user_id, { user_name: request.user_name, approved_at: seconds() })
    // Before the request ends: an approval that a crash interrupts can be repeated.
    files.write(fileOf(platform, 'approved'), approved)
    pending.delete(requestId)
    files.write(fileOf(platform, 'pending'), new Map(pending))
    if (limits.delete(failuresKey(platform))) writeLimits(limits)
    return { status: 'approved', userId: request.user_id, userName: request.user_name }
  }

  function storeRequest(platform: string, id: string, request: Omit<StoredRequest, keyof HashedCode>): string {
    const code = createCode(randomBytes)
    const pending = pendingIn(platform)
    pending.set(id, { ...hashCode(code, randomBytes), ...request })
    files.write(fileOf(platform, 'pending'), new Map(pending))
    return code
  }

  return {
    pendingOf: (platform, userId) =>
      [...pendingIn(platform)].map((entry) => toPublic(platform, entry)).find((request) => request.userId === userId),
    request({ platform, userId, userName }) {
      const limits = files.read(limitsFile)
      const now = seconds()
      if (lockedUntil(platform, limits) !== undefined) return { status: 'locked' }
      if (isLimited(platform, userId, limits)) return { status: 'limited' }
      const pending = pendingIn(platform)
      if (pending.size >= maxPendingRequests) return { status: 'full' }
      // Before the request: a person who is limited without a request only waits.
      limits.set(`${platform}:${userId}`, now)
      writeLimits(limits)
      const requestId = Buffer.from(randomBytes(8)).toString('hex')
      const name = userName.slice(0, maxNameChars).toWellFormed()
      const code = storeRequest(platform, requestId, { user_id: userId, user_name: name, created_at: now })
      return { status: 'created', code, requestId }
    },
    renew(platform, requestId) {
      const request = pendingIn(platform).get(requestId)
      if (request === undefined) return undefined
      const { user_id, user_name, created_at } = request
      return storeRequest(platform, requestId, { user_id, user_name, created_at })
    },
    replaceCode(platform, requestId) {
      const request = pendingIn(platform).get(requestId)
      const limits = files.read(limitsFile)
      if (request === undefined || lockedUntil(platform, limits) !== undefined) return undefined
      const { user_id, user_name, created_at } = request
      if (isLimited(platform, user_id, limits)) return undefined
      limits.set(`${platform}:${user_id}`, seconds())
      writeLimits(limits)
      return storeRequest(platform, requestId, { user_id, user_name, created_at })
    },
    approve(platform, text) {
      const limits = files.read(limitsFile)
      // Only an owner can see the id of a request, so a wrong one is a request that has ended.
      if (/^[0-9a-f]{16}$/i.test(text.trim())) return finishApproval(platform, text.trim().toLowerCase(), limits)
      const until = lockedUntil(platform, limits)
      if (until !== undefined) return { status: 'locked', until: until * 1_000 }
      const code = normalizeCode(text)
      // Every request is compared, so that the time does not tell which one matched.
      const matching = [...pendingIn(platform)].filter(([, request]) => matchesCode(code, request))
      const [match] = matching
      return match === undefined ? recordFailure(platform, limits) : finishApproval(platform, match[0], limits)
    },
    revoke(platform, userId) {
      const approved = files.read(fileOf(platform, 'approved'))
      if (!approved.delete(userId)) return false
      files.write(fileOf(platform, 'approved'), approved)
      return true
    },
    deny(platform, text) {
      const pending = pendingIn(platform)
      const requests = [...pending].map((entry) => toPublic(platform, entry))
      const denied =
        requests.find(({ userId }) => userId === text) ?? requests.find(({ requestId }) => requestId === text)
      if (denied === undefined) return undefined
      pending.delete(denied.requestId)
      files.write(fileOf(platform, 'pending'), new Map(pending))
      return denied
    },
    clearPending(only) {
      const platforms = files.platforms('pending').filter((platform) => only === undefined || platform === only)
      let count = 0
      for (const platform of platforms) {
        count += pendingIn(platform).size
        files.write(fileOf(platform, 'pending'), new Map())
      }
      return count
    },
    list() {
      const pending = files
        .platforms('pending')
        .flatMap((platform) => [...pendingIn(platform)].map((entry) => toPublic(platform, entry)))
      const approved = files.platforms('approved').flatMap((platform) => approvedOn(files, platform))
      const limits = files.read(limitsFile)
      const lockable = [...limits.keys()].flatMap((key) => (key.startsWith('_lockout:') ? [key.slice(9)] : []))
      const locked = lockable.flatMap((platform) => {
        const until = lockedUntil(platform, limits)
        return until === undefined ? [] : [{ platform, until: until * 1_000 }]
      })
      return { pending, approved, locked, damaged: files.damaged() }
    },
    people() {
      const platforms = files.platforms('approved')
      const users = new Map(
        platforms.map((name) => [name, new Set(approvedOn(files, name).map(({ userId }) => userId))]),
      )
      const damaged = new Set(files.damaged().flatMap((name) => damagedPlatform(name) ?? []))
      return { users, damaged }
    },
  }
}

function approvedOn(files: PairingFiles, platform: string): PairedPerson[] {
  return [...files.read(fileOf(platform, 'approved'))].flatMap(([userId, value]) =>
    isRecord(value) && userId !== ''
      ? [
          {
            platform,
            userId,
            userName: textOf(value['user_name']),
            approvedAt: asNumber(value['approved_at']) * 1_000,
          },
        ]
      : [],
  )
}

function toPublic(platform: string, [requestId, stored]: [string, StoredRequest]): PairingRequest {
  const { user_id: userId, user_name: userName, created_at: createdAt } = stored
  return { platform, requestId, userId, userName, createdAt: createdAt * 1_000 }
}

/** Undefined for an entry of another shape, such as one of an old version with the code itself. */
function toRequest(value: unknown): StoredRequest | undefined {
  if (!isRecord(value)) return undefined
  const { hash, salt, user_id, user_name, created_at } = value
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/i.test(hash)) return undefined
  if (typeof salt !== 'string' || !/^(?:[0-9a-f]{2})+$/i.test(salt)) return undefined
  if (typeof user_id !== 'string' || user_id === '' || typeof created_at !== 'number') return undefined
  return { hash, salt, user_id, user_name: textOf(user_name), created_at }
}

/** Whether it is not older than the limit, and not from the future. */
function isWithin(ageSeconds: number, limitSeconds: number): boolean {
  return ageSeconds <= limitSeconds && ageSeconds >= -clockToleranceSeconds
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxNameChars).toWellFormed() : ''
}
