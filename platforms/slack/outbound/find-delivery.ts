/**
 * Searches the newest messages of a channel for a delivery.
 */
import type { ApiCall } from '../connection/api.ts'
import { isTrueAt, type JsonRecord, recordAt, recordsAt, textAt, tsAt } from '../inbound/payload.ts'

export type FindDeliveryResult =
  | { readonly sent: true; readonly messageId?: string | undefined }
  | { readonly sent: false }
  | 'unknown'

export interface DeliverySearch {
  readonly channel: string
  readonly threadTs: string | undefined
  matches(message: JsonRecord): boolean
  /** The time of the first attempt; `undefined` if that was before a restart. */
  readonly since: number | undefined
  readonly signal: AbortSignal
}

/** The type of the metadata by which a delivery is found. */
export const deliveryEventType = 'hermes_delivery'

const pageSize = 100
const maxPages = 4
/** Tolerates a difference between the clocks. */
const clockSkewMs = 10 * 60_000

/** Rejects when the call fails. `unknown` when the search is not conclusive. */
export async function findDelivery(call: ApiCall, search: DeliverySearch): Promise<FindDeliveryResult> {
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page += 1) {
    const result = await call(...pageRequest(search, cursor), search.signal)
    if (!result.ok) {
      // A missing scope is permanent.
      if (result.failure.problem === 'rejected') return 'unknown'
      throw new Error(result.failure.error)
    }
    const match = recordsAt(result.data, 'messages').find(search.matches)
    if (match !== undefined) return foundResult(match)
    cursor = nextCursor(result.data)
    if (cursor === undefined) return isTrueAt(result.data, 'has_more') ? 'unknown' : { sent: false }
  }
  return 'unknown'
}

function pageRequest(
  { channel, threadTs, since }: DeliverySearch,
  cursor: string | undefined,
): [method: string, args: JsonRecord] {
  const range = {
    channel,
    limit: pageSize,
    include_all_metadata: true,
    oldest: since === undefined ? undefined : ((since - clockSkewMs) / 1_000).toFixed(6),
    cursor,
  }
  return threadTs === undefined
    ? ['conversations.history', range]
    : ['conversations.replies', { ...range, ts: threadTs }]
}

/** The cursor of the next page; `undefined` on the last page. */
export function nextCursor(data: JsonRecord): string | undefined {
  return textAt(recordAt(data, 'response_metadata'), 'next_cursor')
}

function foundResult(message: JsonRecord): FindDeliveryResult {
  const messageId = tsAt(message)
  return { sent: true, messageId }
}
