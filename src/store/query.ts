/**
 * Transactions as generators over Kysely queries, which an executor runs.
 *
 * A transaction body contains no `await`, clock, randomness or environment; it receives them as arguments. The SQLite executor
 * therefore runs it synchronously between BEGIN and COMMIT, and a PostgreSQL executor can await each step of the same code.
 *
 * A part of a transaction states what it writes, and what follows the commit or the rollback. A part enlists further parts while
 * it writes, so that the caller that commits the whole needs to know only one part.
 */
import { type CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from './schema.ts'

/** For conditions that must equal the condition of a partial index: the database does not use the index for bound values. */
export { sql }

type SqlValue = string | number | null
export type QueryParams = Readonly<Record<string, SqlValue>>

/** A parameter of a query. The executor compiles each query once and binds the values later. */
export class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

interface Compilable<Row> {
  compile(): CompiledQuery<Row>
}

/** Builds queries; it runs none. */
export type Db = Kysely<Database>

/** A query without its parameter values. Executors cache by identity, so create it once per module. */
export interface Query<P extends QueryParams, Row> {
  build(db: Db): { readonly sql: string; readonly parameters: readonly unknown[] }
  /** Exists only for type inference. */
  readonly types?: { readonly params: P; readonly row: Row }
}

/** One step of a transaction: a query and its parameter values. */
export interface QueryStep {
  readonly query: Query<QueryParams, unknown>
  readonly params: QueryParams
}

/** A step that asks the database nothing: what follows the end of the transaction. */
export interface PartStep {
  readonly part: EnlistedPart
  /** Set when everything of the part is written. */
  readonly committed?: () => void
}

export interface EnlistedPart {
  readonly rolledBack?: (() => void) | undefined
  readonly parts?: readonly EnlistedPart[] | undefined
}

/** Rows of the driver. `rows` gives them the type that Kysely inferred for the query. */
export type RawRows = readonly never[]
export type Transaction<Result> = Generator<QueryStep | PartStep, Result, RawRows>

/**
 * Declares a query. `p` has one placeholder per parameter, with the type of the parameter:
 * `query((db, p: { key: string }) => db.selectFrom('lanes').where('session_key', '=', p.key).selectAll())`.
 */
export function query<P extends QueryParams, Row>(build: (db: Db, p: P) => Compilable<Row>): Query<P, Row> {
  return { build: (db) => build(db, placeholders()).compile() }
}

/** Deletes the oldest rows of a table whose `time` is before `before`, at most `limit`, and returns their ids. */
export function deleteOldest<Table extends 'auxiliary_calls' | 'questions' | 'turns'>(
  table: Table,
  time: keyof Database[Table] & string,
  condition: RawBuilder<boolean> = sql`true`,
): Query<{ before: number; limit: number }, { id: Database[Table]['id'] }> {
  return query((db, p) => {
    const oldest = sql`select id from ${sql.table(table)} where ${sql.ref(time)} < ${p.before} and ${condition} order by ${sql.ref(time)} limit ${p.limit}`
    const statement = sql<{
      id: Database[Table]['id']
    }>`delete from ${sql.table(table)} where id in (${oldest}) returning id`
    return { compile: () => statement.compile(db) }
  })
}

/** The named parameters of a query, for columns that are called like them. */
export function pick<P extends QueryParams, Name extends keyof P>(p: P, ...names: readonly Name[]): Pick<P, Name>
export function pick(p: QueryParams, ...names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, p[name]]))
}

/** Every property is the placeholder of that name. The query builder only passes it through. */
function placeholders<P extends QueryParams>(): P {
  return new Proxy(Object.create(null), { get: (_, name) => new Placeholder(String(name)) })
}

/** Runs a query and returns its rows. */
export function* rows<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<readonly Row[]> {
  return yield { query: of, params }
}

/** Runs a query that returns at most one row. */
export function* row<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<Row | undefined> {
  const records = yield* rows(of, params)
  return records[0]
}

/** Runs a query without result. */
export function* exec<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<void> {
  yield { query: of, params }
}

/** Its functions do not depend on `this`. */
export interface TransactionPart<Result = void> {
  /** Runs within the transaction, and again when the transaction is repeated: it must not rely on an earlier try. */
  readonly write: (now: number) => Transaction<Result>
  /** Called once, after the commit, with what `write` has returned. An error is logged and changes nothing. */
  readonly committed?: ((result: Result) => void) | undefined
  /** Called once if the transaction, with all its tries, has not stored the part. */
  readonly rolledBack?: (() => void) | undefined
  /** What `write` enlists and is known before: it is rolled back also when `write` does not come to it. */
  readonly parts?: readonly EnlistedPart[] | undefined
}

/** Writes a part within the current transaction. Its `committed` follows those of the parts that have ended before it. */
export function* enlist<Result>(part: TransactionPart<Result>, now: number): Transaction<Result> {
  yield { part }
  const result = yield* part.write(now)
  yield { part, committed: () => part.committed?.(result) }
  return result
}

/** Several parts as one. */
export function combine(parts: readonly TransactionPart[]): TransactionPart {
  return {
    parts,
    *write(now) {
      for (const part of parts) yield* enlist(part, now)
    },
  }
}

/** Calls `effect` once the current transaction is committed, after the effects before it. */
export function* afterCommit(effect: () => void): Transaction<void> {
  yield { part: {}, committed: effect }
}
