/**
 * Older lines of a chat, a page at a time.
 */
import type { ChatEntry } from '#sdk'

const pageSize = 60
/** How far back a page can look; beyond it `hermes sessions search` finds more. */
const maxEntries = 10_000

/** The lines before `before`, oldest first. The gateway counts from the newest, so the window grows until it fits. */
export async function earlier(
  history: (query: { limit: number }) => Promise<ChatEntry[]>,
  before: string | undefined,
): Promise<{ entries: ChatEntry[]; more: boolean }> {
  for (let limit = pageSize * 2 + 1; ; limit *= 4) {
    const entries = await history({ limit: Math.min(limit, maxEntries) })
    const end = before === undefined ? entries.length : entries.findIndex((entry) => entry.id === before)
    const exhausted = entries.length < limit || limit >= maxEntries
    if (end <= pageSize && !exhausted) continue
    const start = Math.max(0, end - pageSize)
    return { entries: entries.slice(start, Math.max(0, end)), more: start > 0 }
  }
}
