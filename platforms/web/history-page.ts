/**
 * Older lines of a chat, a page at a time.
 */
import type { ChatEntry, HistoryQuery } from '#sdk'

const pageSize = 60

/** The lines before `before` (without it the newest), oldest first, and whether there are more. */
export async function readHistoryPage(
  history: (query: HistoryQuery) => Promise<ChatEntry[]>,
  before: string | undefined,
): Promise<{ entries: ChatEntry[]; more: boolean }> {
  const entries = await history({ ...(before === undefined ? {} : { before }), limit: pageSize + 1 })
  return { entries: entries.slice(-pageSize), more: entries.length > pageSize }
}
