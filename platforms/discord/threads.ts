/**
 * Threads that open with the first message of ours: the address of an answer names the channel and the thread, and the
 * thread has the id of the message it is opened from, so that nothing has to be remembered over a restart.
 */
import { createRecent, type Target } from '#sdk'
import type { Api } from './api.ts'
import { codeOf, isRefusal } from './errors.ts'
import { cut } from './render.ts'
import { asObject, textAt } from './wire.ts'

export interface Threads {
  /** A message was taken in whose answer will open a thread. */
  expect(threadId: string, text: string): void
  /** Where things are shown that must not open a thread: typing. */
  placeNow(target: Target): string
  /**
   * Does something in the place of a target, and opens its thread where it is missing. Where Discord does not let the bot
   * open one, the place is the channel. Rejects as `act` does.
   */
  within<T>(target: Target, signal: AbortSignal, act: (place: string) => Promise<T>): Promise<T>
  /** The places where a message to this target may lie. */
  placesOf(target: Target): readonly string[]
}

export interface ThreadDeps {
  readonly api: Pick<Api, 'startThread' | 'message'>
  /** Told of each thread that was opened. */
  onOpened(channel: unknown): void
  /** Told why a thread was not opened. */
  onRefused(error: unknown): void
}

const unknownChannel = 10003
const unknownMessage = 10008
const alreadyOpen = 160004
const nameLimit = 100
/** So many threads that were not opened yet are remembered; of others the name is fetched. */
const memory = 1_000

export function createThreads({ api, onOpened, onRefused }: ThreadDeps): Threads {
  /** Thread id → the text that names it. */
  const expected = createRecent<string>(memory)
  /** Threads that Discord does not let the bot open. */
  const refused = createRecent<true>(memory)

  return {
    expect(threadId, text) {
      expected.set(threadId, text)
    },
    placeNow: ({ chatId, threadId }) =>
      threadId === undefined || expected.has(threadId) || refused.has(threadId) ? chatId : threadId,
    placesOf: ({ chatId, threadId }) => (threadId === undefined ? [chatId] : [threadId, chatId]),
    async within({ chatId, threadId }, signal, act) {
      if (threadId === undefined || refused.has(threadId)) return await act(chatId)
      if (expected.has(threadId)) {
        return await act((await open(chatId, threadId, signal)) ? threadId : chatId)
      }
      try {
        return await act(threadId)
      } catch (error) {
        if (codeOf(error) !== unknownChannel) throw error
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
      if (!isRefusal(error)) throw error
      const code = codeOf(error)
      if (code !== alreadyOpen) {
        // Neither a thread nor a message to open one from: it was deleted.
        if (lost !== undefined && (code === unknownMessage || code === unknownChannel)) throw lost
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
    return threadName(textAt(asObject(await api.message(chatId, threadId, signal)), 'content') ?? '')
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
  return cut(words.find((line) => line !== '') ?? 'Conversation', nameLimit)
}
