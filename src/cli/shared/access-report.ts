/**
 * What an owner should know about access, with or without a running daemon: requests that wait, damaged files, and people who
 * were refused lately.
 */
import { randomBytes } from 'node:crypto'
import { listRefusals } from '../../inbox/trace.ts'
import { isHermesError } from '../../lib/errors.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import { createPairing, type PairingList } from '../../pairing/pairing.ts'
import { createPairingFiles, damageWarnings } from '../../pairing/pairing-files.ts'
import type { CliContext } from '../kit/context.ts'
import { readHomeStore } from '../kit/home-store.ts'

/** The files as they are, also beside a running daemon. Throws `pairing/files-unusable`. */
export function readPairingList({ home }: Pick<CliContext, 'home'>, clock: () => number = Date.now): PairingList {
  return createPairing(createPairingFiles(home), clock, randomBytes).list()
}

/** `access` of `hermes status --json`. */
export interface AccessReport {
  /** Requests for access that wait for an owner. */
  readonly pending: number
  readonly damaged: readonly string[]
  /** The newest five within a day. `at`: milliseconds since 1970. */
  readonly refused: readonly { readonly at: number; readonly detail: string }[]
  /** Why something is missing; '' otherwise. */
  readonly problem: string
}

const dayMs = 86_400_000
const maxRefused = 5

/** Never throws `pairing/…` or `store/…`. */
export function readAccessReport({ home }: Pick<CliContext, 'home'>): AccessReport {
  const none = { pending: 0, damaged: [], refused: [] }
  try {
    const { pending, damaged } = readPairingList({ home })
    const selection = { since: Date.now() - dayMs, limit: maxRefused }
    const refused = readHomeStore(home, (reader) => reader.rows(listRefusals, selection), [])
    return { pending: pending.length, damaged, refused, problem: '' }
  } catch (error) {
    if (isHermesError(error)) return { ...none, problem: `${error.message} ${error.hint} (${error.code})` }
    throw error
  }
}

/** One line each. */
export function describeAccess({ pending, damaged, refused, problem }: AccessReport): {
  readonly attention: readonly string[]
  readonly refused: readonly string[]
} {
  const waiting = pending === 1 ? '1 person asks for access' : `${pending} people ask for access`
  return {
    attention: [
      ...(pending === 0 ? [] : [`${waiting}: hermes pairing list`]),
      ...damageWarnings(damaged),
      // The database is reported with the dead letters.
      ...(problem === '' || problem.includes('(store/') ? [] : [problem]),
    ].map(toSingleLine),
    refused: refused.map(({ detail }) => toSingleLine(detail)),
  }
}
