/**
 * Which threads the bot has taken part in, and who wrote there last: in the first nobody needs to mention it, and a
 * stream is addressed to the second.
 */
import { type ChatEntry, createRecent, messageOf, type SessionSource } from '#sdk'

export interface Threads {
  /** What is known without asking. */
  participates(channel: string, threadTs: string): boolean
  /** Finds out where it is not known, from what the gateway has stored. Never rejects. */
  ask(channel: string, threadTs: string): Promise<void>
  /** A message of this source was taken. */
  took(source: SessionSource): void
  /** A message of ours stands there. */
  posted(channel: string, threadTs: string | undefined): void
  askedBy(channel: string, threadTs: string): string | undefined
}

export interface ThreadsDeps {
  history(chatId: string, query: { readonly limit: number }): Promise<readonly ChatEntry[]>
  /** Places that were read in an earlier life. */
  readonly places: Iterable<string>
  log(reason: string): void
}

const known = 2_000
/** How far back a thread is looked for among the messages that were taken. */
const lookBack = 200

export function createThreads({ history, places, log }: ThreadsDeps): Threads {
  const joined = createRecent<boolean>(known)
  const writers = createRecent<string>(known)
  for (const place of places) if (place.includes(':')) joined.set(place, true)
  const keyOf = (channel: string, threadTs: string) => `${channel}:${threadTs}`

  return {
    participates: (channel, threadTs) => joined.get(keyOf(channel, threadTs)) === true,
    async ask(channel, threadTs) {
      const key = keyOf(channel, threadTs)
      if (joined.has(key)) return
      try {
        const entries = await history(channel, { limit: lookBack })
        const isKnown = entries.some(({ messageId }) => messageId === threadTs)
        if (!joined.has(key)) joined.set(key, isKnown)
      } catch (error) {
        log(messageOf(error))
      }
    },
    took({ chatId, threadId, userId }) {
      if (threadId === undefined) return
      joined.set(keyOf(chatId, threadId), true)
      if (userId !== undefined) writers.set(keyOf(chatId, threadId), userId)
    },
    posted(channel, threadTs) {
      if (threadTs !== undefined) joined.set(keyOf(channel, threadTs), true)
    },
    askedBy: (channel, threadTs) => writers.get(keyOf(channel, threadTs)),
  }
}
