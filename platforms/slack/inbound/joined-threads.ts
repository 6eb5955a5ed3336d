/**
 * Remembers the threads in which the bot takes part, where messages need no mention, and the last author of each thread,
 * who is the recipient of a stream.
 */
import { createLruCache, type PlatformContext, type SessionSource } from '#sdk'

export interface JoinedThreads {
  /** The bot takes part in the threads among these read cursors (`channel` or `channel:thread_ts`). */
  recordCursors(keys: Iterable<string>): void
  /** Answers from memory. */
  has(channel: string, threadTs: string): boolean
  /** Looks up an unknown thread in the stored messages. Never rejects. */
  lookUp(channel: string, threadTs: string): Promise<void>
  /** A message of this source was accepted. */
  recordIngested(source: SessionSource): void
  /** The bot has posted there. */
  recordPosted(channel: string, threadTs: string | undefined): void
  lastAuthorOf(channel: string, threadTs: string): string | undefined
}

const maxRemembered = 2_000
/** How many stored messages are searched for a thread. */
const maxLookback = 200

export function createJoinedThreads({ chats, log }: Pick<PlatformContext, 'chats' | 'log'>): JoinedThreads {
  const joined = createLruCache<boolean>(maxRemembered)
  const lastAuthors = createLruCache<string>(maxRemembered)
  const keyOf = (channel: string, threadTs: string) => `${channel}:${threadTs}`

  return {
    recordCursors(keys) {
      for (const key of keys) if (key.includes(':')) joined.set(key, true)
    },
    has: (channel, threadTs) => joined.get(keyOf(channel, threadTs)) === true,
    async lookUp(channel, threadTs) {
      const key = keyOf(channel, threadTs)
      if (joined.has(key)) return
      try {
        const entries = await chats.history(channel, { limit: maxLookback })
        const isKnown = entries.some(({ messageId }) => messageId === threadTs)
        if (!joined.has(key)) joined.set(key, isKnown)
      } catch (error) {
        log.debug({ event: 'slack.thread_lookup_failed', err: error }, 'thread could not be looked up')
      }
    },
    recordIngested({ chatId, threadId, userId }) {
      if (threadId === undefined) return
      joined.set(keyOf(chatId, threadId), true)
      if (userId !== undefined) lastAuthors.set(keyOf(chatId, threadId), userId)
    },
    recordPosted(channel, threadTs) {
      if (threadTs !== undefined) joined.set(keyOf(channel, threadTs), true)
    },
    lastAuthorOf: (channel, threadTs) => lastAuthors.get(keyOf(channel, threadTs)),
  }
}
