/**
 * Whom a limit stops. Telegram limits the calls for each chat and those of the whole bot, and its answer does not say
 * which: when several chats are told to wait at once, it is the bot.
 */
import type { SendResult } from '#sdk'

export interface Limits {
  /** Takes note of an answer for a chat, and says whom its limit stops. */
  note(chatId: string, result: SendResult): SendResult
}

/** So many chats at the same time are no coincidence. */
const several = 3

/** @param now ms of a clock that only goes forward */
export function createLimits(now: () => number): Limits {
  /** When each chat may be called again. */
  const waits = new Map<string, number>()

  return {
    note(chatId, result) {
      if (result.success || result.problem !== 'rate-limited') return result
      const at = now()
      for (const [chat, until] of waits) if (until <= at) waits.delete(chat)
      waits.set(chatId, at + (result.retryAfterMs ?? 0))
      return { ...result, scope: waits.size >= several ? 'account' : 'chat' }
    },
  }
}
