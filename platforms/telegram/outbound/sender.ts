/**
 * Sends, edits and deletes messages. All failures are returned to the outbox, which decides whether to retry.
 */
import type { PlatformAdapter, SendResult, Target } from '#sdk'
import type { TelegramAccount } from '../account.ts'
import { ApiError } from '../errors.ts'
import { albumGroupOf, maxAlbumFiles, sendAlbum } from './album.ts'
import { sendFile } from './media.ts'
import { deleteRequest, typingRequest } from './render.ts'
import {
  type ChatCalls,
  catchApiError,
  createChatCalls,
  createNativeDrafts,
  editText,
  noSuchMessageResult,
  sendText,
  withoutMaybeSent,
} from './text.ts'

export type Sender = Required<Pick<PlatformAdapter, 'send' | 'albums' | 'edit' | 'remove' | 'typing' | 'nativeDrafts'>>

export function createSender({ api }: TelegramAccount): Sender {
  const rateLimits = createRateLimitScope()
  const calls = createChatCalls(api)

  return {
    async send(message, signal) {
      const { attachment, target } = message
      const result = await catchApiError(() =>
        attachment === undefined ? sendText(calls, message, signal) : sendFile(calls, message, attachment, signal),
      )
      return rateLimits.classify(target.chatId, result)
    },
    albums: {
      maxFiles: maxAlbumFiles,
      groupOf: albumGroupOf,
      async send(album, signal) {
        const result = await catchApiError(() => sendAlbum(calls, album, signal))
        return result.success ? result : rateLimits.classify(album.target.chatId, result)
      },
    },
    edit: (messageId, message, _final, signal) =>
      repeatable(message.target, () => editText(calls, messageId, message, signal)),
    nativeDrafts: createNativeDrafts(calls),
    remove: (target, messageId, signal) => repeatable(target, () => deleteMessage(calls, target, messageId, signal)),
    typing: (target, signal) =>
      repeatable(target, async () => {
        await calls.call(typingRequest(target), signal)
        return { success: true }
      }),
  }

  /** Makes a call that is safe to repeat. */
  async function repeatable({ chatId }: Target, work: () => Promise<SendResult>): Promise<SendResult> {
    return rateLimits.classify(chatId, withoutMaybeSent(await catchApiError(work)))
  }
}

async function deleteMessage(
  { call }: ChatCalls,
  target: Target,
  messageId: string,
  signal: AbortSignal,
): Promise<SendResult> {
  const request = deleteRequest(target, messageId)
  if (request === undefined) return noSuchMessageResult
  try {
    await call(request, signal)
  } catch (error) {
    if (!(error instanceof ApiError && error.matches(/message to delete not found/i))) throw error
  }
  return { success: true }
}

export interface RateLimitScope {
  /** Adds the scope to a rate-limited result. */
  classify(chatId: string, result: SendResult): SendResult
}

/** From this number of chats that are limited at the same time, the limit is assumed to be that of the account. */
const minChatsForAccountLimit = 3

/**
 * Telegram limits the calls for each chat and those of the bot, and its error does not say which limit applies. Limits in
 * several chats at the same time indicate that it is the bot's.
 *
 * @param now milliseconds of a monotonic clock
 */
export function createRateLimitScope(now = () => performance.now()): RateLimitScope {
  /** When each chat may be called again. */
  const limitedUntil = new Map<string, number>()

  return {
    classify(chatId, result) {
      if (result.success || result.problem !== 'rate-limited') return result
      const at = now()
      for (const [chat, until] of limitedUntil) if (until <= at) limitedUntil.delete(chat)
      limitedUntil.set(chatId, at + (result.retryAfterMs ?? 0))
      return { ...result, scope: limitedUntil.size >= minChatsForAccountLimit ? 'account' : 'chat' }
    },
  }
}
