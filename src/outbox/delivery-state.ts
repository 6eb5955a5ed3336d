/**
 * How far the messages of one delivery are. Used by who waits for the platform's answer.
 */
import { query, rows, type Transaction } from '../store/query.ts'
import type { OutboxState } from '../store/schema.ts'

export interface DeliveryState {
  /** `open`: it waits, or is on its way. `dropped`: it was skipped or given up. */
  readonly state: 'sent' | 'open' | 'dead' | 'dropped'
  readonly messageIds: readonly string[]
  /** The last error; '' for none. */
  readonly error: string
}

const selectByKey = query((db, p: { from: string; to: string }) =>
  db
    .selectFrom('outbox')
    .select(['state', 'platform_id', 'error'])
    .where('key', '>=', p.from)
    .where('key', '<', p.to)
    .orderBy('id'),
)

/** @param key of the reply; those of its rows continue with `:` */
export function* findDeliveryState(key: string): Transaction<DeliveryState> {
  // `;` follows `:`.
  const records = yield* rows(selectByKey, { from: `${key}:`, to: `${key};` })
  const error = records.find((failed) => failed.error !== null)?.error ?? ''
  const messageIds = records.flatMap(({ platform_id }) => (platform_id === null ? [] : [platform_id]))
  return { state: stateOf(records.map(({ state }) => state)), messageIds, error }
}

function stateOf(states: readonly OutboxState[]): DeliveryState['state'] {
  if (states.includes('dead')) return 'dead'
  if (states.includes('dropped')) return 'dropped'
  return states.every((state) => state === 'sent') ? 'sent' : 'open'
}
