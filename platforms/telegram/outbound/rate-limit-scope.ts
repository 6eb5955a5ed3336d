/**
 * Whom a limit stops. Telegram limits the calls for each chat and those of the whole bot, and its answer does not say
 * which: when several chats are told to wait at once, it is the bot.
 */
import type { SendResult } from '#sdk'

export interface RateLimitScope {
  /** Takes note of an answer for a chat, and says whom its limit stops. */
  classify(chatId: string, result: SendResult): SendResult
}

/** So many chats at the same time are no coincidence. */
const minChatsForAccountLimit = 3

/** @param now ms of a clock that only goes forward */
export function createRateLimitScope(now: () => number): RateLimitScope {
  /** When each chat may be called again. */
  const waits = new Map<string, number>()

  return {
    classify(chatId, result) {
      if (result.success || result.problem !== 'rate-limited') return result
      const at = now()
      for (const [chat, until] of waits) if (until <= at) waits.delete(chat)
      waits.set(chatId, at + (result.retryAfterMs ?? 0))
      return { ...result, scope: waits.size >= minChatsForAccountLimit ? 'account' : 'chat' }
    },
  }
}
