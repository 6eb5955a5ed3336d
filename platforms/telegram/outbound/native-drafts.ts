/**
 * Shows a growing reply with `sendMessageDraft` (Bot API 9.5), in private chats only. Telegram removes a draft after 30
 * seconds, or when the bot sends the message. Older servers and some chats refuse drafts; the reply is then streamed by edits.
 */
import { createLruCache, type OutboundMessage, type PlatformAdapter, type SendResult } from '#sdk'
import { ApiError } from '../errors.ts'

export type NativeDrafts = NonNullable<PlatformAdapter['nativeDrafts']>

/** Telegram accepts about nine drafts per second in the long run. */
const intervalMs = 300
const maxRefusedChats = 1_000

export interface NativeDraftsDeps {
  /** Sends a draft. Rejects with `ApiError`. */
  send(draftId: number, message: OutboundMessage, signal: AbortSignal): Promise<unknown>
  toResult(work: () => Promise<SendResult>): Promise<SendResult>
}

export function createNativeDrafts({ send, toResult }: NativeDraftsDeps): NativeDrafts {
  const refusedChats = createLruCache<true>(maxRefusedChats)
  let hasMethod = true

  return {
    intervalMs,
    // The ids of groups and channels are negative.
    isSupported: ({ chatId }) => hasMethod && /^\d+$/.test(chatId) && refusedChats.get(chatId) === undefined,
    show: (draftId, message, signal) =>
      toResult(async () => {
        try {
          await send(draftId, message, signal)
          return { success: true }
        } catch (error) {
          if (error instanceof ApiError && error.details.code === 404) hasMethod = false
          else if (error instanceof ApiError && isRefusal(error)) refusedChats.set(message.target.chatId, true)
          throw error
        }
      }),
  }
}

function isRefusal({ details: { code } }: ApiError): boolean {
  return code === 400 || code === 403
}
