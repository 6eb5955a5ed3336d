/**
 * The SQLite executor. Use cases that arrive in the same turn of the event loop share one transaction, each inside a
 * savepoint of its own: one sync of the disk then serves them all, and a failing one takes nobody along.
 */
import { HermesError, toError } from '../../lib/errors.ts'
import type { UseCase } from '../query.ts'
import type { Store } from '../store.ts'
import { openDatabase, storeError } from './connection.ts'
import { rememberFiles } from './identity.ts'
import { createStatements, runToEnd } from './statements.ts'

export interface SqliteStoreDeps {
  readonly path: string
  /** Further files without which nothing may be written: the lock of the home. */
  readonly guardedBy?: readonly string[]
  /** How long to wait for another program that writes, ms; 5,000 by default. The process stands still meanwhile. */
  readonly busyTimeoutMs?: number
  /** Told how long each commit took, ms. Must not throw. */
  readonly onCommit?: (durationMs: number) => void
}

interface Job {
  /** Runs inside the transaction. Throws what the use case throws. */
  run(): void
  settle(failure?: Error): void
}

/** So many use cases at most between two looks at the event loop. */
const maxBatch = 128

/** Opens the database. Throws `store/…` when it cannot be used. */
export function createSqliteStore({ path, guardedBy = [], busyTimeoutMs, onCommit }: SqliteStoreDeps): Store {
  const db = openDatabase(path, busyTimeoutMs)
  const replaced = rememberFiles([path, ...guardedBy])
  const statements = createStatements(db)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const savepoint = db.prepare('savepoint use_case')
  const release = db.prepare('release use_case')
  const undo = db.prepare('rollback to use_case')
  const waiting: Job[] = []
  let scheduled = false
  let closing: Promise<void> | undefined
  let onIdle: (() => void) | undefined

  function flush(): void {
    const batch = waiting.splice(0, maxBatch)
    try {
      commitBatch(batch)
    } catch (error) {
      const failure = toError(storeError(error))
      if (db.isTransaction) db.exec('rollback')
      for (const job of batch) job.settle(failure)
    }
    scheduled = waiting.length > 0
    if (scheduled) setImmediate(flush)
    else onIdle?.()
  }

  function commitBatch(batch: readonly Job[]): void {
    const failures = new Map<Job, Error>()
    const lost = replaced()
    if (lost !== undefined) throw new HermesError('store/replaced', lost)
    begin.run()
    for (const job of batch) {
      // Alone it takes nobody along, and a savepoint would copy every page that it writes.
      if (batch.length === 1) job.run()
      else runApart(job, failures)
    }
    const before = performance.now()
    commit.run()
    onCommit?.(performance.now() - before)
    for (const job of batch) job.settle(failures.get(job))
  }

  function runApart(job: Job, failures: Map<Job, Error>): void {
    savepoint.run()
    try {
      job.run()
    } catch (error) {
      // A full or failing disk ends the whole transaction by itself: then nobody's work is kept.
      if (!db.isTransaction) throw error
      undo.run()
      failures.set(job, toError(storeError(error)))
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
    run<Result>(useCase: () => UseCase<Result>): Promise<Result> {
      return new Promise((resolve, reject) => {
        if (closing !== undefined) throw new Error('the store is closed')
        let result: { value: Result } | undefined
        waiting.push({
          run: () => {
            result = { value: runToEnd(useCase(), statements) }
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
