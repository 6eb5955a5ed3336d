/**
 * Counts what a gateway in this process does, without a clock: transactions, statements, calls of the file system and timers.
 * Only what is called from the sources counts.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync, type StatementSync } from 'node:sqlite'

export interface Work {
  /** The statements of each transaction that writes. */
  readonly writes: readonly (readonly string[])[]
  /** The statements of each transaction that only reads. */
  readonly reads: readonly (readonly string[])[]
  /** The function, and the line in the sources that called it. */
  readonly fileCalls: readonly string[]
  /** The line in the sources that set each timer. */
  readonly timers: readonly string[]
}

const root = new URL('../../', import.meta.url).href
const sourcePattern = new RegExp(`${root.replaceAll('.', '\\.')}((?:src|platforms|plugins|hooks)/[^):]+:\\d+)`, 'g')
const statementMethods = ['all', 'get', 'run', 'iterate'] as const
/** The frame of a transaction, and what a test asks. */
const notStatements = /^(?:(?:commit|savepoint|release)\b|\/\*)/
const changesRows = /^\s*(?:with[\s\S]*\)\s*)?(?:insert|update|delete|replace)\b/i

/** Counts from now on. `stop` returns what was counted and restores what was replaced. */
export function countWork(): { stop(): Work } {
  const transactions: string[][] = []
  const fileCalls: string[] = []
  const timers: string[] = []
  const restorers: (() => void)[] = []

  function replaceMethod(target: object, name: string, onCall: (self: unknown) => void): void {
    const original: unknown = Reflect.get(target, name)
    if (typeof original !== 'function') return
    const counted = function (this: unknown, ...values: unknown[]): unknown {
      onCall(this)
      return Reflect.apply(original, this, values)
    }
    Reflect.set(target, name, Object.assign(counted, original))
    restorers.push(() => Reflect.set(target, name, original))
  }

  const database = new DatabaseSync(':memory:')
  const statements: StatementSync = Object.getPrototypeOf(database.prepare('select 1'))
  database.close()
  for (const name of statementMethods)
    replaceMethod(statements, name, (statement) => {
      const sql = String(Reflect.get(Object(statement), 'sourceSQL'))
      if (sql.startsWith('begin')) transactions.push([])
      else if (!notStatements.test(sql)) transactions.at(-1)?.push(sql)
    })
  for (const [target, prefix] of [
    [fs, ''],
    [fs.promises, 'promises.'],
  ] as const)
    for (const name of Object.keys(target)) {
      // Classes, constants and helpers touch no file.
      if (!/^[a-z]/.test(name) || ['constants', 'promises'].includes(name)) continue
      replaceMethod(target, name, () => {
        const line = callingLine()
        if (line !== undefined) fileCalls.push(`${prefix}${name} ${line}`)
      })
    }
  for (const name of ['setTimeout', 'setInterval'])
    replaceMethod(globalThis, name, () => {
      const line = callingLine()
      if (line !== undefined) timers.push(line)
    })
  syncBuiltinESMExports()

  return {
    stop() {
      for (const restore of restorers) restore()
      syncBuiltinESMExports()
      return {
        writes: transactions.filter((statements) => statements.some((sql) => changesRows.test(sql))),
        reads: transactions.filter((statements) => !statements.some((sql) => changesRows.test(sql))),
        fileCalls,
        timers,
      }
    },
  }
}

/** The work of the process itself: the log, whose level decides, the files of the database that each commit checks, and polling. */
const uncounted = ['src/lib/rotating-file.ts', 'src/store/sqlite/store.ts', 'src/lib/watch-files.ts']

/**
 * The line that made a call, such as `src/outbox/worker.ts:10`: the first one outside of `src/lib`. Undefined for a call that is
 * not counted, or does not come from the sources: tests use `src/lib` as well.
 */
function callingLine(): string | undefined {
  const lines = sourceLines()
  if (lines.some((line) => uncounted.some((file) => line.startsWith(file)))) return undefined
  return lines.find((line) => !line.startsWith('src/lib/'))
}

/** The lines of the sources that are running, such as `src/outbox/worker.ts:10`, the innermost first. */
export function sourceLines(): string[] {
  const { stack = '' } = new Error('to read the stack')
  return [...stack.matchAll(sourcePattern)].map(([, line = '']) => line)
}
