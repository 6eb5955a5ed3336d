/**
 * From a checked request to the event that the gateway works on.
 */
import { createHash, randomUUID } from 'node:crypto'
import { brand, type EventKey, type MessageEvent, type PlatformContext } from '#sdk'
import type { ChatRequest } from './parse-request.ts'

export interface InboundMessage {
  readonly event: MessageEvent
  /** Names the event for ever, and is its message id, so that live texts find their request. */
  readonly key: EventKey
}

/**
 * A repeated request must find the session of the first one, so its key names the session when nothing else does. Where
 * one is named, the key counts in it alone: no conversation gets the answer of another. Neither of the two can hold a
 * space, so that no pair reads like another.
 */
export function toInboundMessage(context: PlatformContext, chat: ChatRequest): InboundMessage {
  const { platform, account } = context
  const { input, history, instructions, idempotencyKey, sessionId } = chat
  const name = idempotencyKey ?? randomUUID()
  const key = brand<EventKey>(sessionId === undefined ? `api:${name}` : `api:${name} ${sessionId}`)
  const fresh =
    idempotencyKey === undefined ? randomUUID() : createHash('sha256').update(key).digest('hex').slice(0, 32)
  const hasSeed = history.length > 0 || instructions !== ''
  return {
    key,
    event: {
      source: { platform, account, chatId: sessionId ?? fresh, chatType: 'dm', userId: 'api' },
      text: input,
      messageType: 'text',
      messageId: key,
      timestamp: context.clock(),
      // Programs speak here: a line that begins with a slash is their text.
      allowGatewayControl: false,
      ...(hasSeed ? { seed: { messages: history, ...(instructions === '' ? {} : { instructions }) } } : {}),
    },
  }
}
