/**
 * What an owner does about pairing: list, approve, revoke, end requests. The daemon runs it for its API, and `hermes pairing` while
 * it holds the lock of the home. Loaded when it is first needed.
 */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import {
  createPairing,
  type PairedPeople,
  type Pairing,
  type PairingList,
  type PairingRequest,
} from '../../pairing/pairing.ts'
import { createPairingFiles, damageWarnings, isPlatformName, limitsFile } from '../../pairing/pairing-files.ts'
import { lockAfterLostLimits } from '../../pairing/pairing-limits.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import type { Runtime } from '../../store/runtime.ts'
import { type AllowListFiles, addToAllowList, removeFromAllowLists } from './allow-list-files.ts'
import { isListed, nameOwner, nameOwners } from './listed-people.ts'

/** The lists of people who have access. */
export interface AccessLists extends Pick<AllowListFiles, 'environment'> {
  /** The accounts with the lists in effect; reads the files again. */
  accounts(): readonly PlatformAccount[]
  /** Called after a change of the people who have access. */
  onChange(people: PairedPeople): unknown
}

type PairingRuntime = Pick<Runtime, 'home' | 'clock' | 'log'>

/** What an approved person becomes. */
export type PairedRole = 'member' | 'owner'

export interface ApprovedPerson {
  readonly platform: string
  readonly user_id: string
  readonly user_name: string
  readonly role: PairedRole
  /** What has not worked; absent if all has. */
  readonly problem?: string | undefined
  /** The people who were written into `roles.owners`, because the person would otherwise be taken for an owner; absent if none. */
  readonly owners_named?: readonly string[] | undefined
}

export interface PairingAdmin {
  readonly pairing: Pairing
  list(): PairingList
  /**
   * Throws `pairing/rejected`, `pairing/not-paired`, `pairing/files-unusable`.
   * @param code the code, or the id of a request
   * @param role `owner` also names the person in `roles.owners`
   */
  approve(platform: string, code: string, role?: PairedRole): ApprovedPerson
  /** Throws `pairing/not-paired`, `pairing/listed`, `pairing/files-unusable`, `config/unreadable`. */
  revoke(platform: string, userId: string): void
  /**
   * Ends one request; the person gets no answer. Throws `pairing/not-paired`, `pairing/files-unusable`.
   * @param person the id of the user, or of the request
   */
  deny(platform: string, person: string): PairingRequest
  clearPending(platform?: string): number
}

/** The entry of the trace about a denied request. @param via where the owner decided, such as `web` or `cli` */
export function denialEntry({ platform, userId, userName }: PairingRequest, via: string): string {
  const name = userName === '' ? '' : ` (${toLabel(userName, 80)})`
  return `The request for access of ${platform} user ${toLabel(userId, 80)}${name} was refused by an owner (${toLabel(via, 20)}).`
}

/** Opens the pairing store for the one process that may write it. */
export function openPairing({ home, clock, log }: PairingRuntime): Pairing {
  const stored = createPairingFiles(home, (files, name, keptAs) => {
    log.error(
      { event: 'pairing.file_damaged', file: name, keptAs },
      'a file of the pairing store is damaged; it was kept aside',
    )
    if (name === limitsFile) lockAfterLostLimits(files, clock())
  })
  return createPairing(stored, clock, randomBytes)
}

/** At the start of the daemon. Never throws: with unusable files no user is paired, and the problems are for the owner. */
export function readPairedPeople(runtime: PairingRuntime): {
  readonly people: PairedPeople
  readonly problems: readonly string[]
} {
  try {
    const pairing = openPairing(runtime)
    const people = pairing.people()
    return { people, problems: damageWarnings(pairing.list().damaged) }
  } catch (error) {
    runtime.log.error(
      { event: 'pairing.files_unusable', err: error },
      `the pairing store cannot be read, so no user is paired: ${messageOf(error)}`,
    )
    return { people: noPairedPeople, problems: [`pairing: ${messageOf(error)}`] }
  }
}

/** No user is paired, and the allow lists may name people who were. */
const noPairedPeople: PairedPeople = { users: new Map(), damaged: 'all' }

export function createPairingAdmin(runtime: PairingRuntime, lists: AccessLists): PairingAdmin {
  const { home, log } = runtime
  const pairing = openPairing(runtime)
  const files: AllowListFiles = { home, environment: lists.environment }

  return {
    pairing,
    list: pairing.list,
    approve(platform, code, role = 'member') {
      checkPlatformName(platform)
      const result = pairing.approve(platform, code)
      if (result.status === 'locked') {
        const until = new Date(result.until).toISOString()
        log.warn(
          { event: 'pairing.locked', platform, until },
          'too many wrong pairing codes; no code is accepted for an hour',
        )
        throw new HermesError(
          'pairing/rejected',
          `After five wrong codes, ${platform} accepts no code until ${until}.`,
          {
            hint: 'Wait, or approve a request by its id (`hermes pairing list`).',
          },
        )
      }
      if (result.status === 'unknown') {
        log.warn({ event: 'pairing.code_rejected', platform }, 'a pairing code belongs to no request')
        throw new HermesError(
          'pairing/rejected',
          `(${platform}; ${result.attemptsLeft} more before the codes are locked)`,
        )
      }
      const { userId, userName } = result
      log.info({ event: 'pairing.approved', platform, user: userId, role }, 'a person was approved')
      const listed = tryAddToLists(platform, userId, role)
      lists.onChange(pairing.people())
      return { platform, user_id: userId, user_name: userName, ...listed }
    },
    revoke(platform, userId) {
      checkPlatformName(platform)
      if (!pairing.list().approved.some((person) => person.platform === platform && person.userId === userId)) {
        throw new HermesError('pairing/not-paired', `${userId} is not paired on ${platform}.`, {
          hint: '`hermes pairing list` shows who is. Other people have access by an allow list of the configuration.',
        })
      }
      // First: a person on an allow list who is not known to be paired could become an owner.
      removeFromAllowLists(files, platform, userId)
      if (isListed(lists.accounts(), platform, userId))
        throw new HermesError('pairing/listed', `${userId} is still on a list of ${platform} that is in effect.`)
      // A start with a mistake in config.yaml would use this copy, which may still name the person.
      rmSync(home.lastGoodConfigFile, { force: true })
      pairing.revoke(platform, userId)
      log.info({ event: 'pairing.revoked', platform, user: userId }, 'the access of a person was revoked')
      lists.onChange(pairing.people())
    },
    deny(platform, person) {
      checkPlatformName(platform)
      const request = pairing.deny(platform, person)
      if (request === undefined)
        throw new HermesError('pairing/not-paired', `No request of ${person} waits on ${platform}.`, {
          hint: '`hermes pairing list` shows the requests. A request ends after one hour.',
        })
      log.info({ event: 'pairing.denied', platform, user: request.userId }, 'a request for access was refused')
      return request
    },
    clearPending(platform) {
      if (platform !== undefined) checkPlatformName(platform)
      const count = pairing.clearPending(platform)
      log.info({ event: 'pairing.cleared', platform: platform ?? '', count }, 'requests for access were ended')
      return count
    },
  }

  /** The person has access without it. */
  function tryAddToLists(
    platform: string,
    userId: string,
    wanted: PairedRole,
  ): Pick<ApprovedPerson, 'role' | 'problem' | 'owners_named'> {
    let role: PairedRole = 'member'
    try {
      const accounts = lists.accounts()
      const owners = nameOwners(home, accounts, pairing.people())
      if (wanted === 'owner') nameOwner(home, accounts, platform, userId)
      role = wanted
      if (owners.length > 0)
        log.info({ event: 'pairing.owners_named', owners }, 'the owners were named in roles.owners')
      addToAllowList(files, platform, userId)
      return { role, ...(owners.length > 0 && { owners_named: owners }) }
    } catch (error) {
      log.warn(
        { event: 'pairing.list_not_edited', platform, err: error },
        `an approved person was not added to the allow list: ${messageOf(error)}`,
      )
      const lost = role === wanted ? 'The allow list was not changed' : 'The person is a member, and no owner'
      return { role, problem: `${lost}: ${messageOf(error)}` }
    }
  }
}

function checkPlatformName(platform: string): void {
  if (isPlatformName(platform)) return
  throw new HermesError('pairing/not-paired', `${JSON.stringify(platform)} is not the name of a platform.`, {
    hint: 'Use the name that the message with the code says, such as telegram.',
  })
}
