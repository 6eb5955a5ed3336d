/**
 * Looks whether a message of ours stands in a channel: its newest messages, with their metadata.
 */
import { type Fields, fieldsIn, isTrue, listIn, textIn, tsIn } from './payload.ts'
import type { SlackCall } from './web.ts'

export type Found = { readonly sent: true; readonly messageId?: string } | { readonly sent: false } | 'unknown'

export interface Search {
  readonly channel: string
  readonly threadTs: string | undefined
  isIt(message: Fields): boolean
  /** When it was first tried, ms; undefined where that was in an earlier life. */
  readonly since: number | undefined
  readonly signal: AbortSignal
}

const pageSize = 100
const maxPages = 4
/** Clocks differ. */
const leewayMs = 10 * 60_000

/** Rejects where Slack could not be asked now; `unknown` where it cannot say. */
export async function findDelivery(call: SlackCall, search: Search): Promise<Found> {
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page += 1) {
    const answer = await call(...pageOf(search, cursor), search.signal)
    if (!answer.ok) {
      // Rights that the app does not have will not come by asking again.
      if (answer.failure.problem === 'rejected') return 'unknown'
      throw new Error(answer.failure.error)
    }
    const found = listIn(answer.data, 'messages').find(search.isIt)
    if (found !== undefined) return sentAs(found)
    cursor = nextCursor(answer.data)
    if (cursor === undefined) return isTrue(answer.data, 'has_more') ? 'unknown' : { sent: false }
  }
  return 'unknown'
}

function pageOf({ channel, threadTs, since }: Search, cursor: string | undefined): [method: string, args: Fields] {
  const range = {
    channel,
    limit: pageSize,
    include_all_metadata: true,
    ...(since === undefined ? {} : { oldest: ((since - leewayMs) / 1_000).toFixed(6) }),
    ...(cursor === undefined ? {} : { cursor }),
  }
  return threadTs === undefined
    ? ['conversations.history', range]
    : ['conversations.replies', { ...range, ts: threadTs }]
}

/** Where the next page of a list begins; undefined on the last one. */
export function nextCursor(data: Fields): string | undefined {
  return textIn(fieldsIn(data, 'response_metadata'), 'next_cursor')
}

function sentAs(message: Fields): Found {
  const messageId = tsIn(message)
  return { sent: true, ...(messageId === undefined ? {} : { messageId }) }
}
