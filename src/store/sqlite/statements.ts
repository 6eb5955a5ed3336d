/**
 * Runs the queries of a transaction on one connection. Each query is compiled once, because building the SQL costs more than
 * running it.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import {
  type PartStep,
  Placeholder,
  type Query,
  type QueryParams,
  type QueryStep,
  type RawRows,
  type Transaction,
} from '../query.ts'
import type { Database } from '../schema.ts'

interface PreparedStatement {
  readonly statement: StatementSync
  readonly values: readonly (Placeholder | SQLInputValue)[]
}

interface Statements {
  run(step: QueryStep): RawRows
}

/**
 * Writes the constants of a query into its SQL, so that only placeholders are bound. SQLite prepares a statement with a bound
 * LIMIT again at each use, and it uses a partial index only if the SQL contains its condition.
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
    const compiled = { statement: db.prepare(sql), values: parameters.map(toBindable) }
    prepared.set(query, compiled)
    return compiled
  }

  return {
    run({ query, params }) {
      const { statement, values } = prepare(query)
      const bound = values.map((value) => (value instanceof Placeholder ? bindPlaceholder(value, params) : value))
      return asRows(statement.all(...bound))
    },
  }
}

/** Runs a transaction body synchronously on one connection. Throws its error. */
export function runTransaction<Result>(
  transaction: Transaction<Result>,
  statements: Statements,
  onPart: (step: PartStep) => void,
): Result {
  let step = transaction.next()
  while (!step.done) {
    const { value } = step
    if ('part' in value) {
      onPart(value)
      step = transaction.next(noRows)
    } else step = transaction.next(statements.run(value))
  }
  return step.value
}

const noRows: readonly never[] = []

function bindPlaceholder(placeholder: Placeholder, params: QueryParams): SQLInputValue {
  const value = params[placeholder.name]
  if (value === undefined) throw new TypeError(`query parameter "${placeholder.name}" is missing`)
  return value
}

function toBindable(value: unknown): Placeholder | SQLInputValue {
  if (value === null || value instanceof Placeholder || typeof value === 'string' || typeof value === 'number')
    return value
  throw new TypeError(`a ${typeof value} cannot be bound to a query`)
}

/** The only place where the untyped rows of the driver get the types that Kysely inferred from the schema. */
function asRows(values: unknown[]): RawRows {
  return values as never[]
}
