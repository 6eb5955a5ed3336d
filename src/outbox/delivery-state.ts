/**
 * How far the messages of one delivery are. Used by who waits for the platform's answer.
 */

import { query, rows, type Transaction } from '../store/query.ts'
import type { OutboxState } from '../store/schema.ts'
import { type KeyRange, keysUnder, rowsUnder } from './queries.ts'

export interface DeliveryState {
  /** `open`: it waits, or is on its way. `dropped`: it was skipped or given up. */
  readonly state: 'sent' | 'open' | 'dead' | 'dropped'
  readonly messageIds: readonly string[]
  /** The last error; '' for none. */
  readonly error: string
}

const selectByKey = query((db, p: KeyRange) => rowsUnder(db, p).select(['state', 'platform_id', 'error']).orderBy('id'))

/** @param key of the reply; those of its rows continue with `:` */
export function* findDeliveryState(key: string): Transaction<DeliveryState> {
  const records = yield* rows(selectByKey, keysUnder(key))
  const error = records.find((failed) => failed.error !== null)?.error ?? ''
  const messageIds = records.flatMap(({ platform_id }) => (platform_id === null ? [] : [platform_id]))
  return { state: stateOf(records.map(({ state }) => state)), messageIds, error }
}

function stateOf(states: readonly OutboxState[]): DeliveryState['state'] {
  if (states.includes('dead')) return 'dead'
  if (states.includes('dropped')) return 'dropped'
  return states.every((state) => state === 'sent') ? 'sent' : 'open'
}
