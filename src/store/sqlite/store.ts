/**
 * The SQLite executor. Transactions of the same event loop turn are committed together, each inside its own savepoint: one sync of
 * the disk serves all of them, and a failing one does not affect the others.
 */
import { statSync } from 'node:fs'
import { HermesError, toError } from '../../lib/errors.ts'
import { createStore } from '../commit.ts'
import type { PartStep, Transaction } from '../query.ts'
import type { Store } from '../store.ts'
import { toStoreError } from './connection.ts'
import { type MigrationReport, openDatabase } from './open-database.ts'
import { createStatements, runTransaction } from './statements.ts'

export interface SqliteStoreDeps {
  readonly path: string
  /** Further files that must exist unchanged for a write, such as the lock of the home directory. */
  readonly guardFiles?: readonly string[]
  /** How long to wait for another program that writes, ms. Blocks the event loop. */
  readonly busyTimeoutMs?: number
  /** Receives the duration of each commit that takes `slowCommitMs` or longer, ms. Must not throw. */
  readonly onSlowCommit?: (durationMs: number) => void
  /** 0 by default: every commit is reported. */
  readonly slowCommitMs?: number
  /** Receives the error of a batch that could not be committed. Must not throw. */
  readonly onFailure?: (error: Error) => void
  /** Called after the commit that follows a failure. Must not throw. */
  readonly onRecovery?: () => void
  /** Called when an existing database was brought to the newest schema. */
  readonly onMigrated?: (report: MigrationReport) => void
  /**
   * Receives an error of what follows a commit or a rollback. Must not throw. By default it is an uncaught error, because the
   * transaction is stored and its caller must not try again.
   */
  readonly onPartError?: (error: unknown) => void
}

interface QueuedTransaction {
  /** Runs inside the transaction. Throws the error of the transaction body. */
  run(): void
  settle(failure?: Error): void
}

/** Transactions per commit. The event loop runs between two commits. */
const maxBatchSize = 128

/** Opens the database. Throws `store/...` when it cannot be used. */
export function createSqliteStore({
  path,
  guardFiles: guardedBy = [],
  busyTimeoutMs,
  onSlowCommit,
  slowCommitMs = 0,
  onFailure,
  onRecovery,
  onMigrated,
  onPartError = throwUncaught,
}: SqliteStoreDeps): Store {
  const db = openDatabase(path, { busyTimeoutMs, onMigrated })
  const findReplacedFile = detectReplacedFiles([path, ...guardedBy])
  const statements = createStatements(db)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const savepoint = db.prepare('savepoint use_case')
  const release = db.prepare('release use_case')
  const rollbackToSavepoint = db.prepare('rollback to use_case')
  const waiting: QueuedTransaction[] = []
  let scheduled = false
  let hasFailed = false
  let closing: Promise<void> | undefined
  let onIdle: (() => void) | undefined

  function flush(): void {
    const batch = waiting.splice(0, maxBatchSize)
    try {
      commitBatch(batch)
    } catch (error) {
      const failure = toError(toStoreError(error))
      if (db.isTransaction) db.exec('rollback')
      onFailure?.(failure)
      hasFailed = true
      for (const job of batch) job.settle(failure)
    }
    scheduled = waiting.length > 0
    if (scheduled) setImmediate(flush)
    else onIdle?.()
  }

  function commitBatch(batch: readonly QueuedTransaction[]): void {
    const failures = new Map<QueuedTransaction, Error>()
    const replacedPath = findReplacedFile()
    if (replacedPath !== undefined) throw new HermesError('store/replaced', replacedPath)
    begin.run()
    for (const job of batch) {
      // A single transaction needs no savepoint, which would copy every page that it writes.
      if (batch.length === 1) job.run()
      else runInSavepoint(job, failures)
    }
    const before = performance.now()
    commit.run()
    const durationMs = performance.now() - before
    if (durationMs >= slowCommitMs) onSlowCommit?.(durationMs)
    if (hasFailed) onRecovery?.()
    hasFailed = false
    for (const job of batch) job.settle(failures.get(job))
  }

  function runInSavepoint(job: QueuedTransaction, failures: Map<QueuedTransaction, Error>): void {
    savepoint.run()
    try {
      job.run()
    } catch (error) {
      // After a full or failing disk SQLite has rolled back the whole batch.
      if (!db.isTransaction) throw error
      rollbackToSavepoint.run()
      failures.set(job, toError(toStoreError(error)))
    }
    release.run()
  }

  async function close(): Promise<void> {
    if (scheduled) {
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    }
    db.close()
  }

  function execute<Result>(transaction: () => Transaction<Result>, onPart: (step: PartStep) => void): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (closing !== undefined) throw new Error('the store is closed')
      let result: { value: Result } | undefined
      waiting.push({
        run: () => {
          result = { value: runTransaction(transaction(), statements, onPart) }
        },
        settle: (failure) => {
          if (failure !== undefined) reject(failure)
          else if (result !== undefined) resolve(result.value)
        },
      })
      if (scheduled) return
      scheduled = true
      setImmediate(flush)
    })
  }

  return createStore(
    {
      execute,
      close() {
        closing ??= close()
        return closing
      },
    },
    onPartError,
  )
}

function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

/**
 * Records the identity of files and returns a function that finds the first one that was removed or replaced. A process keeps
 * writing to such a file, but everything it writes there is lost when it exits, and a removed lock file protects nothing.
 */
export function detectReplacedFiles(paths: readonly string[]): () => string | undefined {
  const known = paths.map((path) => ({ path, fileId: fileIdOf(path) }))
  return () => known.find(({ path, fileId }) => fileIdOf(path) !== fileId)?.path
}

/**
 * The same for as long as the path leads to the same file or directory, whatever is written to it. `undefined` for a
 * missing file. Throws other errors of the file system.
 */
function fileIdOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`
}
