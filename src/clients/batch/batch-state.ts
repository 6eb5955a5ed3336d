/**
 * What a batch must know to be continued: its id and which attempt of a prompt counts. Stored beside the results, before
 * anything is sent.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, lstatSync, openSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { readTextIfExists, writeFileAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/json.ts'
import { existsFile } from './result-file.ts'

const stateSchema = z.object({
  version: z.literal(1),
  /** Part of the names of its conversations, so that two batches never share one. */
  batch: z.string().regex(/^[0-9a-f]{16}$/),
  /** The attempts of prompts that are tried again, by id; 1 for all others. */
  attempts: z.array(z.tuple([z.string(), z.int().positive()])),
})

export interface BatchState {
  readonly batch: string
  /** Whether the results of an earlier run are continued. */
  readonly isContinued: boolean
  attemptOf(id: string): number
  /** Stores that these prompts are tried once more. */
  tryAgain(ids: readonly string[]): void
  /** Releases the results for other processes. */
  release(): void
}

/** Locks a file for this process. Throws `home/locked`. */
export type LockFile = (path: string) => { release(): void }

/**
 * Opens or begins the batch of a file of results, and locks it.
 * Throws `cli/usage` when another process writes it, when the file belongs to no batch, and as `existsFile`.
 */
export function openBatch(out: string, lockFile: LockFile): BatchState {
  const path = realPathOf(out)
  existsFile(path)
  const lock = lockResults(path, lockFile)
  try {
    return { ...openState(path), release: lock }
  } catch (error) {
    lock()
    throw error
  }
}

function openState(results: string): Omit<BatchState, 'release'> {
  const path = `${results}.state`
  const stored = readState(path)
  if (stored === undefined && existsSync(results) && statSync(results).size > 0) {
    throw new HermesError('cli/usage', `${results} exists, and is not the file of a batch.`, {
      hint: `Name another file with --out. A batch keeps ${basename(path)} beside its results.`,
    })
  }
  // A person who deletes the results wants new answers.
  const isContinued = stored !== undefined && existsSync(results)
  const { batch, attempts } = isContinued ? stored : { batch: randomBytes(8).toString('hex'), attempts: [] }
  const attemptById = new Map(attempts)
  const attemptOf = (id: string) => attemptById.get(id) ?? 1
  const save = () => writeFileAtomic(path, `${JSON.stringify({ version: 1, batch, attempts: [...attemptById] })}\n`)
  if (!isContinued) {
    // Without results a later run would begin a new batch, and pay again for what this one has sent.
    closeSync(openSync(results, 'a', 0o600))
    save()
  }
  return {
    batch,
    isContinued,
    attemptOf,
    tryAgain(ids) {
      if (ids.length === 0) return
      for (const id of ids) attemptById.set(id, attemptOf(id) + 1)
      save()
    },
  }
}

/** Undefined if there is none. Throws `cli/usage`. */
function readState(path: string) {
  const text = readTextIfExists(path)
  if (text === undefined) return undefined
  const state = stateSchema.safeParse(parseJson(text))
  if (state.success) return state.data
  throw new HermesError('cli/usage', `${path} is not readable as the state of a batch.`, {
    hint: 'Name another file with --out. What was sent before is then sent again.',
  })
}

/** The directory must exist; the file need not. Throws `cli/usage`, also for a link to nothing. */
export function realPathOf(out: string): string {
  try {
    if (lstatSync(out, { throwIfNoEntry: false }) !== undefined) return realpathSync(out)
    return join(realpathSync(dirname(out)), basename(out))
  } catch (error) {
    throw new HermesError('cli/usage', `${out} cannot be created: ${messageOf(error)}.`, { cause: error })
  }
}

/** Two processes would write every result twice. The operating system releases the lock of a killed process. */
function lockResults(results: string, lockFile: LockFile): () => void {
  const path = `${results}.lock`
  try {
    const lock = lockFile(path)
    // The process that held the lock removes the file, and a lock on a removed file excludes no process.
    if (!existsSync(path)) {
      lock.release()
      throw new HermesError('home/locked')
    }
    return () => {
      rmSync(path, { force: true })
      lock.release()
    }
  } catch (error) {
    if (!isHermesError(error, 'home/locked'))
      throw new HermesError('cli/usage', `${path} cannot be written: ${messageOf(error)}.`, { cause: error })
    throw new HermesError('cli/usage', `Another batch writes ${results} now.`, {
      hint: 'Wait for it, or name another file with --out.',
      cause: error,
    })
  }
}
