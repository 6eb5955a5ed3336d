/**
 * The SQLite executor. Use cases that arrive in the same turn of the event loop share one transaction, each inside a
 * savepoint of its own: one sync of the disk then serves them all, and a failing one takes nobody along.
 */
import { HermesError, toError } from '../../lib/errors.ts'
import type { Transaction } from '../query.ts'
import type { Store } from '../store.ts'
import { openDatabase, toStoreError } from './connection.ts'
import { detectReplacedFiles } from './detect-replaced-files.ts'
import { createStatements, runTransaction } from './statements.ts'

export interface SqliteStoreDeps {
  readonly path: string
  /** Further files without which nothing may be written: the lock of the home. */
  readonly guardFiles?: readonly string[]
  /** How long to wait for another program that writes, ms; 5,000 by default. The process stands still meanwhile. */
  readonly busyTimeoutMs?: number
  /** Told how long each commit took, ms. Must not throw. */
  readonly onCommit?: (durationMs: number) => void
}

interface QueuedTransaction {
  /** Runs inside the transaction. Throws what the use case throws. */
  run(): void
  settle(failure?: Error): void
}

/** So many use cases at most between two looks at the event loop. */
const maxBatchSize = 128

/** Opens the database. Throws `store/…` when it cannot be used. */
export function createSqliteStore({
  path,
  guardFiles: guardedBy = [],
  busyTimeoutMs,
  onCommit,
}: SqliteStoreDeps): Store {
  const db = openDatabase(path, busyTimeoutMs)
  const findReplacedFile = detectReplacedFiles([path, ...guardedBy])
  const statements = createStatements(db)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const savepoint = db.prepare('savepoint use_case')
  const release = db.prepare('release use_case')
  const rollbackToSavepoint = db.prepare('rollback to use_case')
  const waiting: QueuedTransaction[] = []
  let scheduled = false
  let closing: Promise<void> | undefined
  let onIdle: (() => void) | undefined

  function flush(): void {
    const batch = waiting.splice(0, maxBatchSize)
    try {
      commitBatch(batch)
    } catch (error) {
      const failure = toError(toStoreError(error))
      if (db.isTransaction) db.exec('rollback')
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
      // Alone it takes nobody along, and a savepoint would copy every page that it writes.
      if (batch.length === 1) job.run()
      else runInSavepoint(job, failures)
    }
    const before = performance.now()
    commit.run()
    onCommit?.(performance.now() - before)
    for (const job of batch) job.settle(failures.get(job))
  }

  function runInSavepoint(job: QueuedTransaction, failures: Map<QueuedTransaction, Error>): void {
    savepoint.run()
    try {
      job.run()
    } catch (error) {
      // A full or failing disk ends the whole transaction by itself: then nobody's work is kept.
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

  return {
    run<Result>(useCase: () => Transaction<Result>): Promise<Result> {
      return new Promise((resolve, reject) => {
        if (closing !== undefined) throw new Error('the store is closed')
        let result: { value: Result } | undefined
        waiting.push({
          run: () => {
            result = { value: runTransaction(useCase(), statements) }
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
    },

    close() {
      closing ??= close()
      return closing
    },
  }
}
