/**
 * Shows a growing reply with `sendMessageDraft` (Bot API 9.5), in private chats only. Telegram removes a draft after 30 seconds,
 * or when the bot sends the message. Older servers and some chats refuse drafts; the reply is then streamed by edits.
 */
import { createLruCache, type PlatformAdapter, type SendResult } from '#sdk'
import { ApiError, catchApiError, withoutMaybeSent } from '../errors.ts'
import { type ChatCalls, callWithPlainFallback } from './chat-calls.ts'
import { draftRequest, renderText } from './render.ts'

/** Telegram accepts about nine drafts per second in the long run. */
const draftIntervalMs = 300
const maxRefusedChats = 1_000

export function createNativeDrafts(calls: ChatCalls): NonNullable<PlatformAdapter['nativeDrafts']> {
  const refusedChats = createLruCache<true>(maxRefusedChats)
  let hasMethod = true

  return {
    intervalMs: draftIntervalMs,
    // The ids of groups and channels are negative.
    isSupported: ({ chatId }) => hasMethod && /^\d+$/.test(chatId) && refusedChats.get(chatId) === undefined,
    async show(draftId, message, signal) {
      const result = await catchApiError<SendResult>(async () => {
        try {
          const body = await renderText(message.text)
          await callWithPlainFallback(calls, draftRequest(draftId, message, body), message.text, body, signal)
          return { success: true }
        } catch (error) {
          if (error instanceof ApiError && error.details.code === 404) hasMethod = false
          else if (error instanceof ApiError && isRefusal(error)) refusedChats.set(message.target.chatId, true)
          throw error
        }
      })
      return withoutMaybeSent(result)
    },
  }
}

function isRefusal({ details: { code } }: ApiError): boolean {
  return code === 400 || code === 403
}
