/**
 * Read-only access to the database for commands that list and search. It runs in another process or thread than turns, so
 * that a long query does not delay a message.
 */
import type { DatabaseSync } from 'node:sqlite'
import { isHermesError } from '../../lib/errors.ts'
import type { Query, QueryParams, Transaction } from '../query.ts'
import { openReadOnly, withStoreErrors } from './connection.ts'
import { createStatements, runTransaction } from './statements.ts'

export interface StoreReader {
  /** Throws `store/…`. */
  rows<P extends QueryParams, Row>(query: Query<P, Row>, params: P): readonly Row[]
  /** Runs a transaction that only reads, on one state of the database. Throws `store/…`. */
  run<Result>(transaction: () => Transaction<Result>): Result
  /** Full-text search over the transcript, best match first. Throws `store/…`. */
  search(text: string, limit: number): readonly SearchHit[]
  /** SQLite's own check; an empty list if there is no damage. */
  checkIntegrity(): readonly string[]
  close(): void
}

export interface SearchHit {
  readonly sessionId: string
  readonly role: string
  /** ms since 1970. */
  readonly at: number
  /** The matching part of the text, with the terms between « and ». */
  readonly excerpt: string
}

/** Throws `store/…` if there is no usable database. */
export function openReader(path: string): StoreReader {
  const db = openReadOnly(path)
  const statements = createStatements(db)
  return {
    rows: (query, params) => withStoreErrors(() => statements.run({ query, params })),
    run(transaction) {
      return withStoreErrors(() => {
        db.exec('begin')
        try {
          return runTransaction(transaction(), statements, refusePart)
        } finally {
          db.exec('rollback')
        }
      })
    },
    search: (text, limit) => withStoreErrors(() => search(db, text, limit)),
    checkIntegrity: () => checkIntegrity(db),
    close: () => db.close(),
  }
}

function refusePart(): never {
  throw new Error('what is only read is not committed, and nothing can follow it')
}

function checkIntegrity(db: DatabaseSync): readonly string[] {
  try {
    const problems = withStoreErrors(() => db.prepare('pragma quick_check').all())
    return problems.map((row) => String(row['quick_check'])).filter((line) => line !== 'ok')
  } catch (error) {
    // Some damage makes the check itself fail.
    if (isHermesError(error, 'store/corrupt')) return [error.detail]
    throw error
  }
}

function search(db: DatabaseSync, text: string, limit: number): readonly SearchHit[] {
  const match = toMatchExpression(text)
  if (match === '') return []
  const problems = db
    .prepare(
      `select m.session_id, m.role, m.created_at, snippet(messages_fts, 0, '«', '»', '…', 24) as excerpt
       from messages_fts join messages m on m.id = messages_fts.rowid
       where messages_fts match ? order by rank, m.id desc limit ?`,
    )
    .all(match, limit)
  return problems.map((row) => ({
    sessionId: String(row['session_id']),
    role: String(row['role']),
    at: Number(row['created_at']),
    excerpt: String(row['excerpt']),
  }))
}

/** Quotes each word, so that user input is never FTS syntax. All words must occur. A NUL would end the expression. */
export function toMatchExpression(text: string): string {
  const words = text.split(/[\s\0]+/).filter((word) => word !== '')
  return words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' ')
}
