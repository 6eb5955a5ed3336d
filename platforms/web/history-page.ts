/**
 * Reads older entries of a chat in pages.
 */
import type { ChatEntry, HistoryQuery } from '#sdk'

const pageSize = 60

/** The entries before `before`, or the newest ones, in ascending order. `more`: older entries exist. */
export async function readHistoryPage(
  history: (query: HistoryQuery) => Promise<ChatEntry[]>,
  before: string | undefined,
): Promise<{ entries: ChatEntry[]; more: boolean }> {
  const entries = await history({ ...(before === undefined ? {} : { before }), limit: pageSize + 1 })
  return { entries: entries.slice(-pageSize), more: entries.length > pageSize }
}
