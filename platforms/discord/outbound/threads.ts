/**
 * Threads that open with the first message of ours: the address of an answer names the channel and the thread, and the
 * thread has the id of the message it is opened from, so that nothing has to be remembered over a restart.
 */
import { createLruCache, type Target } from '#sdk'
import type { Api } from '../connection/api.ts'
import { codeOf, isRejected } from '../errors.ts'
import { asRecord, textAt } from '../inbound/payload.ts'
import { truncate } from './render.ts'

export interface ThreadOpener {
  /** A message was taken in whose answer will open a thread. */
  expectThread(threadId: string, text: string): void
  /** Where things are shown that must not open a thread: typing. */
  currentChannelId(target: Target): string
  /**
   * Does something in the place of a target, and opens its thread where it is missing. Where Discord does not let the bot
   * open one, the place is the channel. Rejects as `act` does.
   */
  withChannel<T>(target: Target, signal: AbortSignal, act: (place: string) => Promise<T>): Promise<T>
  /** The places where a message to this target may lie. */
  channelIdsOf(target: Target): readonly string[]
}

export interface ThreadOpenerDeps {
  readonly api: Pick<Api, 'startThread' | 'message'>
  /** Told of each thread that was opened. */
  onOpened(channel: unknown): void
  /** Told why a thread was not opened. */
  onRefused(error: unknown): void
}

const unknownChannelCode = 10003
const unknownMessageCode = 10008
const threadExistsCode = 160004
const maxThreadNameChars = 100
/** So many threads that were not opened yet are remembered; of others the name is fetched. */
const maxRemembered = 1_000

export function createThreadOpener({ api, onOpened, onRefused }: ThreadOpenerDeps): ThreadOpener {
  /** Thread id → the text that names it. */
  const expected = createLruCache<string>(maxRemembered)
  /** Threads that Discord does not let the bot open. */
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
        // After a restart nobody remembers that it is still to be opened.
        const opened = await open(chatId, threadId, signal, error)
        return await act(opened ? threadId : chatId)
      }
    },
  }

  /** False: the place is the channel. `lost`: the thread was looked for in vain; rejects with it where there is none to open. */
  async function open(chatId: string, threadId: string, signal: AbortSignal, lost?: unknown): Promise<boolean> {
    try {
      onOpened(await api.startThread(chatId, threadId, await nameFor(chatId, threadId, signal), signal))
    } catch (error) {
      if (!isRejected(error)) throw error
      const code = codeOf(error)
      if (code !== threadExistsCode) {
        // Neither a thread nor a message to open one from: it was deleted.
        if (lost !== undefined && (code === unknownMessageCode || code === unknownChannelCode)) throw lost
        onRefused(error)
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

/** The first line that says something, without Discord's codes. */
export function threadName(text: string): string {
  const lines = text.slice(0, 2_000).split('\n')
  const words = lines.map((line) =>
    line
      .replace(/<[@#][!&]?\d{1,20}>|^[\s>#]+|[`*~|]+|__/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  )
  return truncate(words.find((line) => line !== '') ?? 'Conversation', maxThreadNameChars)
}
