/**
 * What an adapter has received under one name of its own, such as the events of a webhook: the newest, with what became of them.
 */
import { query, rows, type Transaction } from '../store/query.ts'

export interface RecentDelivery {
  readonly id: string
  /** ms since 1970 */
  readonly receivedAt: number
  /** That of its message in the inbox; `waiting` or `done` for one that leads to no turn. */
  readonly state: string
  /** The number of its message; null for one that leads to no turn. */
  readonly seq: number | null
}

const selectMessages = query((db, p: { platform: string; from: string; to: string; limit: number }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'chat_id', 'state', 'accepted_at'])
    .where('platform', '=', p.platform)
    .where('chat_id', '>=', p.from)
    .where('chat_id', '<', p.to)
    .orderBy('seq', 'desc')
    .limit(p.limit),
)

const selectDeferred = query((db, p: { from: string; to: string; limit: number }) =>
  db
    .selectFrom('deferred_deliveries')
    .select(['key', 'received_at', 'done_at'])
    .where('key', '>=', p.from)
    .where('key', '<', p.to)
    .orderBy('received_at', 'desc')
    .limit(p.limit),
)

/** The newest first. A turn has the chat `<name>:<id>`, and every other delivery the key `<platform>:<name>:<id>`. */
export function* listRecentDeliveries(platform: string, name: string, limit: number): Transaction<RecentDelivery[]> {
  // `;` follows `:`.
  const messages = yield* rows(selectMessages, { platform, from: `${name}:`, to: `${name};`, limit })
  const key = `${platform}:${name}`
  const deferred = yield* rows(selectDeferred, { from: `${key}:`, to: `${key};`, limit })
  const turns = messages.map(
    ({ seq, chat_id, state, accepted_at }): RecentDelivery => ({
      id: chat_id.slice(name.length + 1),
      receivedAt: accepted_at,
      state,
      seq,
    }),
  )
  const others = deferred.map(
    ({ key: whole, received_at, done_at }): RecentDelivery => ({
      id: whole.slice(key.length + 1),
      receivedAt: received_at,
      state: done_at === null ? 'waiting' : 'done',
      seq: null,
    }),
  )
  const withTurn = new Set(turns.map(({ id }) => id))
  return [...turns, ...others.filter(({ id }) => !withTurn.has(id))]
    .sort((a, b) => b.receivedAt - a.receivedAt)
    .slice(0, limit)
}
