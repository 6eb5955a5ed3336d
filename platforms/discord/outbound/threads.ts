/**
 * Opens the thread of a target with the first message to it. The target names the channel and the thread, and the thread has
 * the id of the message that it is opened from, so that no state has to survive a restart.
 */
import { createLruCache, type Logger, type Target } from '#sdk'
import type { Api } from '../connection/api.ts'
import { codeOf, describeError, isRejected } from '../errors.ts'
import type { GuildCache } from '../inbound/guild-cache.ts'
import { asRecord, textAt } from '../inbound/payload.ts'
import { truncate } from './render.ts'

export interface ThreadOpener {
  /** A message was ingested whose response opens a thread. */
  expectThread(threadId: string, text: string): void
  /** The channel for a call that must not open a thread, such as typing. */
  currentChannelId(target: Target): string
  /**
   * Calls `act` with the channel of a target, and opens its thread if it does not exist. Where the bot may not open a
   * thread, this is the parent channel. Rejects as `act` does.
   */
  withChannel<T>(target: Target, signal: AbortSignal, act: (channelId: string) => Promise<T>): Promise<T>
  /** The channels in which a message to this target may have been sent. */
  channelIdsOf(target: Target): readonly string[]
}

const unknownChannelCode = 10003
const unknownMessageCode = 10008
const threadExistsCode = 160004
const maxThreadNameChars = 100
/** Limit of remembered threads that were not opened yet. The names of others are fetched. */
const maxRemembered = 1_000

export function createThreadOpener(api: Api, guildCache: GuildCache, log: Logger): ThreadOpener {
  /** By thread id: the text that the name is made of. */
  const expected = createLruCache<string>(maxRemembered)
  /** Threads that the bot may not open. */
  const refused = createLruCache<true>(maxRemembered)

  return {
    expectThread(threadId, text) {
      expected.set(threadId, text)
    },
    currentChannelId: ({ chatId, threadId }) =>
      threadId === undefined || expected.has(threadId) || refused.has(threadId) ? chatId : threadId,
    channelIdsOf: ({ chatId, threadId }) => (threadId === undefined ? [chatId] : [threadId, chatId]),
    async withChannel({ chatId, threadId }, signal, act) {
      if (threadId === undefined || refused.has(threadId)) return await act(chatId)
      if (expected.has(threadId)) {
        return await act((await open(chatId, threadId, signal)) ? threadId : chatId)
      }
      try {
        return await act(threadId)
      } catch (error) {
        if (codeOf(error) !== unknownChannelCode) throw error
        // After a restart it is not known that the thread was not opened yet.
        const opened = await open(chatId, threadId, signal, error)
        return await act(opened ? threadId : chatId)
      }
    },
  }

  /** False: the parent channel is used. `notFound`: the error for an unknown thread; rejects with it when none can be opened. */
  async function open(chatId: string, threadId: string, signal: AbortSignal, notFound?: unknown): Promise<boolean> {
    try {
      const name = await nameFor(chatId, threadId, signal)
      guildCache.updateChannel(asRecord(await api.startThread(chatId, threadId, name, signal)))
    } catch (error) {
      if (!isRejected(error)) throw error
      const code = codeOf(error)
      if (code !== threadExistsCode) {
        // Neither the thread nor the message to open it from exists: the message was deleted.
        if (notFound !== undefined && (code === unknownMessageCode || code === unknownChannelCode)) throw notFound
        log.warn(
          { event: 'discord.thread_refused', reason: describeError(error) },
          'no thread could be opened; the reply goes to the channel',
        )
        expected.delete(threadId)
        refused.set(threadId, true)
        return false
      }
    }
    expected.delete(threadId)
    return true
  }

  async function nameFor(chatId: string, threadId: string, signal: AbortSignal): Promise<string> {
    const known = expected.get(threadId)
    if (known !== undefined) return threadName(known)
    return threadName(textAt(asRecord(await api.message(chatId, threadId, signal)), 'content') ?? '')
  }
}

/** The first line that is not blank, without Discord's codes. */
export function threadName(text: string): string {
  const lines = text.slice(0, 2_000).split('\n')
  const cleaned = lines.map((line) =>
    line
      .replace(/<[@#][!&]?\d{1,20}>|^[\s>#]+|[`*~|]+|__/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  )
  return truncate(cleaned.find((line) => line !== '') ?? 'Conversation', maxThreadNameChars)
}
