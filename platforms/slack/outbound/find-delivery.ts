/**
 * Looks whether a message of ours stands in a channel: its newest messages, with their metadata.
 */

import type { ApiCall } from '../connection/api.ts'
import { isTrueAt, type JsonRecord, recordAt, recordsAt, textAt, tsAt } from '../inbound/payload.ts'

export type FindDeliveryResult =
  | { readonly sent: true; readonly messageId?: string }
  | { readonly sent: false }
  | 'unknown'

export interface DeliverySearch {
  readonly channel: string
  readonly threadTs: string | undefined
  matches(message: JsonRecord): boolean
  /** When it was first tried, ms; undefined where that was in an earlier life. */
  readonly since: number | undefined
  readonly signal: AbortSignal
}

const pageSize = 100
const maxPages = 4
/** Clocks differ. */
const clockSkewMs = 10 * 60_000

/** Rejects where Slack could not be asked now; `unknown` where it cannot say. */
export async function findDelivery(call: ApiCall, search: DeliverySearch): Promise<FindDeliveryResult> {
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page += 1) {
    const answer = await call(...pageRequest(search, cursor), search.signal)
    if (!answer.ok) {
      // Rights that the app does not have will not come by asking again.
      if (answer.failure.problem === 'rejected') return 'unknown'
      throw new Error(answer.failure.error)
    }
    const found = recordsAt(answer.data, 'messages').find(search.matches)
    if (found !== undefined) return foundResult(found)
    cursor = nextCursor(answer.data)
    if (cursor === undefined) return isTrueAt(answer.data, 'has_more') ? 'unknown' : { sent: false }
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
    ...(since === undefined ? {} : { oldest: ((since - clockSkewMs) / 1_000).toFixed(6) }),
    ...(cursor === undefined ? {} : { cursor }),
  }
  return threadTs === undefined
    ? ['conversations.history', range]
    : ['conversations.replies', { ...range, ts: threadTs }]
}

/** Where the next page of a list begins; undefined on the last one. */
export function nextCursor(data: JsonRecord): string | undefined {
  return textAt(recordAt(data, 'response_metadata'), 'next_cursor')
}

function foundResult(message: JsonRecord): FindDeliveryResult {
  const messageId = tsAt(message)
  return { sent: true, ...(messageId === undefined ? {} : { messageId }) }
}
