/**
 * Whether the database can be written: the last failed write, until a write succeeds, and the free space of its disk.
 */
import { type ErrorCode, errorCatalogue } from '../lib/error-catalogue.ts'
import { isHermesError } from '../lib/errors.ts'

/** Failures of the storage. Other errors belong to the transaction. */
const storageFailures: readonly ErrorCode[] = [
  'store/full',
  'store/locked',
  'store/unavailable',
  'store/corrupt',
  'store/failed',
]
/** A disk with less free space is full: the database grows by more in one commit. */
export const minFreeBytes = 1_048_576

export interface WriteHealth {
  succeeded(): void
  failed(error: unknown): void
  /** The code of the error that every write has now; `undefined` if writes succeed. */
  problem(): ErrorCode | undefined
}

/** @param freeBytes of the disk of the database; `undefined` if it cannot be determined */
export function createWriteHealth(freeBytes: () => number | undefined): WriteHealth {
  let lastFailure: ErrorCode | undefined
  return {
    succeeded() {
      lastFailure = undefined
    },
    failed(error) {
      lastFailure = storageFailures.find((code) => isHermesError(error, code)) ?? lastFailure
    },
    problem() {
      const free = freeBytes()
      if (free !== undefined && free < minFreeBytes) return 'store/full'
      // Space was freed, but nothing was written since.
      if (lastFailure === 'store/full' && free !== undefined) lastFailure = undefined
      return lastFailure
    },
  }
}

/** The reason for the owner. */
export function describeWriteProblem(code: ErrorCode): string {
  const { meaning, hint } = errorCatalogue[code]
  return `database: ${meaning} ${hint} (${code})`
}
