/**
 * Telegram's normalise function for the replay of payloads. A payload is one update, or the list of updates of an answer.
 */
import { normalize } from '../../../platforms/telegram/inbound/normalize.ts'
import { parseOptions } from '../../../platforms/telegram/options.ts'
import type { ButtonPress, MessageChange } from '../../../src/message/change.ts'
import type { MessageEvent } from '../../../src/message/event.ts'
import { type ReplaySubject, valueAt } from '../../kit/replay.ts'

/** Whoever wrote, changed, reacted or pressed; never the user who stands in for a chat. */
const writers = ['message', 'edited_message', 'channel_post', 'edited_channel_post'] as const

export const subject: ReplaySubject = {
  platform: 'telegram',
  normalize(payload, account) {
    const token = '123456:AAtest-token_of-HermesTestBot'
    const { botId, groups } = parseOptions({ token, ...account }, 'default')
    const view = { platform: 'telegram', account: 'default', botId, username: 'HermesTestBot', groups }
    const intakes = normalize(Array.isArray(payload) ? payload : [payload], view)
    return intakes.flatMap<MessageEvent | MessageChange | ButtonPress>((intake) => {
      if (intake.kind === 'event') return [intake.event]
      if (intake.kind === 'change') return [intake.change]
      return intake.press === undefined ? [] : [intake.press]
    })
  },
  authors(payload) {
    const updates: readonly unknown[] = Array.isArray(payload) ? payload : [payload]
    return updates.flatMap((update) => [
      ...writers.flatMap((kind) =>
        valueAt(update, kind, 'sender_chat') === undefined ? [valueAt(update, kind, 'from', 'id')] : [],
      ),
      valueAt(update, 'message_reaction', 'user', 'id'),
      valueAt(update, 'callback_query', 'from', 'id'),
    ])
  },
  allowed: '42',
}
