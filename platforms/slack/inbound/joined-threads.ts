/**
 * Which threads the bot has taken part in, and who wrote there last: in the first nobody needs to mention it, and a
 * stream is addressed to the second.
 */
import { type ChatEntry, createLruCache, messageOf, type SessionSource } from '#sdk'

export interface JoinedThreads {
  /** What is known without asking. */
  has(channel: string, threadTs: string): boolean
  /** Finds out where it is not known, from what the gateway has stored. Never rejects. */
  lookUp(channel: string, threadTs: string): Promise<void>
  /** A message of this source was taken. */
  recordIngested(source: SessionSource): void
  /** A message of ours stands there. */
  recordPosted(channel: string, threadTs: string | undefined): void
  lastAuthorOf(channel: string, threadTs: string): string | undefined
}

export interface JoinedThreadsDeps {
  history(chatId: string, query: { readonly limit: number }): Promise<readonly ChatEntry[]>
  /** Places that were read in an earlier life. */
  readonly markedPlaces: Iterable<string>
  log(reason: string): void
}

const maxRemembered = 2_000
/** How far back a thread is looked for among the messages that were taken. */
const maxLookback = 200

export function createJoinedThreads({ history, markedPlaces: places, log }: JoinedThreadsDeps): JoinedThreads {
  const joined = createLruCache<boolean>(maxRemembered)
  const writers = createLruCache<string>(maxRemembered)
  for (const place of places) if (place.includes(':')) joined.set(place, true)
  const keyOf = (channel: string, threadTs: string) => `${channel}:${threadTs}`

  return {
    has: (channel, threadTs) => joined.get(keyOf(channel, threadTs)) === true,
    async lookUp(channel, threadTs) {
      const key = keyOf(channel, threadTs)
      if (joined.has(key)) return
      try {
        const entries = await history(channel, { limit: maxLookback })
        const isKnown = entries.some(({ messageId }) => messageId === threadTs)
        if (!joined.has(key)) joined.set(key, isKnown)
      } catch (error) {
        log(messageOf(error))
      }
    },
    recordIngested({ chatId, threadId, userId }) {
      if (threadId === undefined) return
      joined.set(keyOf(chatId, threadId), true)
      if (userId !== undefined) writers.set(keyOf(chatId, threadId), userId)
    },
    recordPosted(channel, threadTs) {
      if (threadTs !== undefined) joined.set(keyOf(channel, threadTs), true)
    },
    lastAuthorOf: (channel, threadTs) => writers.get(keyOf(channel, threadTs)),
  }
}
