/**
 * Compiles each query once and keeps its prepared statement: building the SQL costs more than running it.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { Placeholder, type Query, type QueryParams, type QueryStep, type RawRows, type Transaction } from '../query.ts'
import type { Database } from '../schema.ts'

interface PreparedStatement {
  readonly statement: StatementSync
  readonly values: readonly (Placeholder | SQLInputValue)[]
}

export interface Statements {
  run(step: QueryStep): RawRows
}

/**
 * Writes the constants of a query into its text, so that only slots are bound. SQLite looks at a bound LIMIT when it plans
 * and so prepares the statement anew at each use; and a partial index serves only a query that spells its condition out.
 */
class InlineConstantsCompiler extends SqliteQueryCompiler {
  protected override appendValue(value: unknown): void {
    if (value === null || typeof value === 'string' || typeof value === 'number') this.appendImmediateValue(value)
    else super.appendValue(value)
  }
}

export function createStatements(db: DatabaseSync): Statements {
  const builder = new Kysely<Database>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new InlineConstantsCompiler(),
    },
  })
  const prepared = new Map<Query<QueryParams, unknown>, PreparedStatement>()

  function prepare(query: Query<QueryParams, unknown>): PreparedStatement {
    const known = prepared.get(query)
    if (known !== undefined) return known
    const { sql, parameters } = query.build(builder)
    const made = { statement: db.prepare(sql), values: parameters.map(toBindable) }
    prepared.set(query, made)
    return made
  }

  return {
    run({ query, params }) {
      const { statement, values } = prepare(query)
      const bound = values.map((value) => (value instanceof Placeholder ? bindPlaceholder(value, params) : value))
      return asRows(statement.all(...bound))
    },
  }
}

/** Runs a use case to its end on one connection, giving way to nobody. Throws what the use case throws. */
export function runTransaction<Result>(useCase: Transaction<Result>, statements: Statements): Result {
  let step = useCase.next()
  while (!step.done) step = useCase.next(statements.run(step.value))
  return step.value
}

function bindPlaceholder(slot: Placeholder, params: QueryParams): SQLInputValue {
  const value = params[slot.name]
  if (value === undefined) throw new TypeError(`query parameter "${slot.name}" was not given`)
  return value
}

function toBindable(value: unknown): Placeholder | SQLInputValue {
  if (value === null || value instanceof Placeholder || typeof value === 'string' || typeof value === 'number')
    return value
  throw new TypeError(`a ${typeof value} cannot be bound to a query`)
}

/** The one place where the untyped rows of the driver meet the types Kysely inferred from the schema. */
function asRows(found: unknown[]): RawRows {
  return found as never[]
}
