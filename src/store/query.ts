/**
 * Use cases: what one transaction does, written once as a generator over Kysely queries and run by an executor.
 *
 * A use case has no `await`, clock, random or environment inside: they are arguments. So the SQLite executor can run it
 * without ever giving way between BEGIN and COMMIT, and a PostgreSQL executor can await each step, from the same text.
 */
import type { CompiledQuery, Kysely } from 'kysely'
import type { Database } from './schema.ts'

/** For conditions that repeat a partial index word for word: bound values would keep the database from using it. */
export { sql } from 'kysely'

export type SqlValue = string | number | null
export type QueryParams = Readonly<Record<string, SqlValue>>

/** Stands in a query for a value that arrives later; the executor compiles each query once and fills these. */
export class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

interface Compilable<Row> {
  compile(): CompiledQuery<Row>
}

/** A query with its parameters still open. Identity matters: executors cache by it, so make it once per module. */
export interface Query<P extends QueryParams, Row> {
  build(db: Kysely<Database>): { readonly sql: string; readonly parameters: readonly unknown[] }
  /** Types only, never read. */
  readonly types?: { readonly params: P; readonly row: Row }
}

/** One step of a use case: a query and the values for its slots. */
export interface QueryStep {
  readonly query: Query<QueryParams, unknown>
  readonly params: QueryParams
}

/** Rows as the database returns them; `rows` gives them the type that Kysely inferred for the query. */
export type RawRows = readonly never[]
export type Transaction<Result> = Generator<QueryStep, Result, RawRows>

/**
 * Declares a query. `p` has one slot per parameter, typed as the parameter:
 * `query((db, p: { key: string }) => db.selectFrom('lanes').where('session_key', '=', p.key).selectAll())`.
 */
export function query<P extends QueryParams, Row>(
  build: (db: Kysely<Database>, p: P) => Compilable<Row>,
): Query<P, Row> {
  return { build: (db) => build(db, placeholders()).compile() }
}

/** An object that answers every property with the slot of that name. The query builder only passes them through. */
function placeholders<P extends QueryParams>(): P {
  return new Proxy(Object.create(null), { get: (_, name) => new Placeholder(String(name)) })
}

/** Runs a query and returns its rows. */
export function* rows<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<readonly Row[]> {
  return yield { query: of, params }
}

/** Runs a query that finds at most one row. */
export function* row<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<Row | undefined> {
  const found = yield* rows(of, params)
  return found[0]
}

/** Runs a query for its effect. */
export function* exec<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<void> {
  yield { query: of, params }
}
