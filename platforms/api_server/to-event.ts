/**
 * Converts a validated request into the event for the gateway.
 */
import { createHash, randomUUID } from 'node:crypto'
import { brand, type EventKey, type MessageEvent, type PlatformContext } from '#sdk'
import type { ChatRequest } from './parse-request.ts'
import type { StoredPictures } from './store-pictures.ts'

export interface InboundMessage {
  readonly event: MessageEvent
  /** Part of the event key, and the message id by which live texts find their request. */
  readonly key: EventKey
}

/**
 * A repeated request must find the session of the first one, so its idempotency key is the session id if there is no other.
 * With a session id the key is valid only in that session, so that no session receives the reply of another. Neither value
 * can contain a space, so that the combination is unambiguous.
 */
export function toInboundMessage(
  context: PlatformContext,
  chat: ChatRequest,
  { attachments, history }: StoredPictures,
): InboundMessage {
  const { platform, account } = context
  const { input, instructions, idempotencyKey, sessionId } = chat
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
      messageType: messageTypeOf(attachments),
      messageId: key,
      timestamp: context.clock(),
      // The clients are programs, so a text that starts with a slash is not a command.
      allowGatewayControl: false,
      metadata: { attended: 'no' },
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(hasSeed ? { seed: { messages: history, ...(instructions === '' ? {} : { instructions }) } } : {}),
    },
  }
}

function messageTypeOf([first]: StoredPictures['attachments']): MessageEvent['messageType'] {
  if (first === undefined) return 'text'
  return first.kind === 'voice' ? 'voice' : 'photo'
}
