/**
 * What model calls have used, by day and by model, platform or person. Reads many rows: only for the thread that reads.
 */
import { query, row, rows, sql, type Transaction } from '../store/query.ts'

export const spendKeys = ['model', 'platform', 'person'] as const
export type SpendKey = (typeof spendKeys)[number]

export interface Spend {
  readonly input_tokens: number
  readonly output_tokens: number
  /** US dollars, of the tokens whose price is known. */
  readonly cost: number
}

interface SpendOfDay extends Spend {
  /** `2026-11-29`, in the time zone of the gateway. */
  readonly day: string
  readonly name: string
}

const names = {
  model: sql<string>`coalesce(nullif(model, ''), 'unknown')`,
  platform: sql<string>`coalesce(platform, 'unknown')`,
  person: sql<string>`coalesce(platform, 'unknown') || ':' || coalesce(person, '')`,
}

const spendBy = (key: SpendKey) =>
  query((db, p: { since: number; first: number }) => {
    const statement = sql<SpendOfDay>`with calls as (
      select m.created_at as at, m.usage, t.model, s.platform, s.user_id as person
        from messages m left join turns t on t.id = m.turn_id left join sessions s on s.id = m.session_id
        where m.id >= ${p.first} and m.created_at >= ${p.since} and m.usage is not null
      union all
      select a.created_at, a.usage, a.model, s.platform, s.user_id
        from auxiliary_calls a left join sessions s on s.id = a.session_id where a.created_at >= ${p.since})
      select date(at / 1000, 'unixepoch', 'localtime') as day, ${names[key]} as name,
        sum(coalesce(usage ->> '$.inputTokens', 0)) as input_tokens, sum(coalesce(usage ->> '$.outputTokens', 0)) as output_tokens,
        sum(coalesce(usage ->> '$.cost', 0.0)) as cost
      from calls group by 1, 2 order by 1`
    return { compile: () => statement.compile(db) }
  })

const queries = { model: spendBy('model'), platform: spendBy('platform'), person: spendBy('person') }

const messageFrom = query((db, p: { id: number }) =>
  db.selectFrom('messages').select(['id', 'created_at']).where('id', '>=', p.id).orderBy('id').limit(1),
)
const newestMessage = query((db) => db.selectFrom('messages').select('id').orderBy('id', 'desc').limit(1))

/** Messages are numbered in the order of time, so that the first of a period is found without an index. */
function* firstMessageSince(since: number): Transaction<number> {
  let from = 1
  let to = ((yield* row(newestMessage, {}))?.id ?? 0) + 1
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    const message = yield* row(messageFrom, { id: middle })
    if (message === undefined || message.created_at >= since) to = middle
    else from = message.id + 1
  }
  return from
}

export function* readSpend(key: SpendKey, since: number): Transaction<readonly SpendOfDay[]> {
  return yield* rows(queries[key], { since, first: yield* firstMessageSince(since) })
}
