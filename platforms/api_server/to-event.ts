/**
 * Converts a validated request into the event for the gateway.
 */
import { createHash, randomUUID } from 'node:crypto'
import { brand, type EventKey, type MessageEvent, type PlatformContext } from '#sdk'
import type { ChatRequest } from './parse-request.ts'
import type { RequestHeaders } from './read-headers.ts'
import type { StoredPictures } from './store-pictures.ts'

export interface InboundMessage {
  readonly event: MessageEvent
  /** Part of the event key, and the message id by which live texts find their request. */
  readonly key: EventKey
}

/** What names a request: its event key, and the session that it starts if it continues none. */
export interface RequestName {
  readonly key: EventKey
  readonly freshSession: string
}

/**
 * A repeated request must find the session of the first one, so its idempotency key is the session id if there is no other.
 * With a session id the key is valid only in that session, so that no session receives the reply of another. Neither value
 * can contain a space, so that the combination is unambiguous.
 */
export function nameRequest(
  kind: 'api' | 'api-response' | 'api-run',
  { idempotencyKey, sessionId }: Pick<RequestHeaders, 'idempotencyKey' | 'sessionId'>,
): RequestName {
  const name = idempotencyKey ?? randomUUID()
  const key = brand<EventKey>(sessionId === undefined ? `${kind}:${name}` : `${kind}:${name} ${sessionId}`)
  const freshSession =
    idempotencyKey === undefined ? randomUUID() : createHash('sha256').update(key).digest('hex').slice(0, 32)
  return { key, freshSession }
}

export function completionMessage(
  context: PlatformContext,
  chat: ChatRequest,
  { attachments, history }: StoredPictures,
): InboundMessage {
  const { key, freshSession } = nameRequest('api', chat)
  const { input, instructions, sessionKey, sessionId } = chat
  return toInboundMessage(context, {
    key,
    chatId: sessionId ?? freshSession,
    text: input,
    instructions,
    sessionKey,
    attachments,
    history,
  })
}

export interface MessageParts extends StoredPictures {
  readonly key: EventKey
  readonly chatId: string
  readonly text: string
  /** The instructions of a new session; '' for none. */
  readonly instructions: string
  readonly sessionKey: string | undefined
  /** Whether the client answers questions of the turn. */
  readonly asks?: boolean
}

export function toInboundMessage(
  { platform, account, clock }: Pick<PlatformContext, 'platform' | 'account' | 'clock'>,
  { key, chatId, text, instructions, sessionKey, asks = false, attachments, history }: MessageParts,
): InboundMessage {
  const hasSeed = history.length > 0 || instructions !== ''
  return {
    key,
    event: {
      source: { platform, account, chatId, chatType: 'dm', userId: 'api' },
      text,
      messageType: messageTypeOf(attachments),
      messageId: key,
      timestamp: clock(),
      // The clients are programs, so a text that starts with a slash is not a command.
      allowGatewayControl: false,
      metadata: { attended: asks ? 'asks' : 'no', ...(sessionKey === undefined ? {} : { session_key: sessionKey }) },
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(hasSeed ? { seed: { messages: history, ...(instructions === '' ? {} : { instructions }) } } : {}),
    },
  }
}

function messageTypeOf([first]: StoredPictures['attachments']): MessageEvent['messageType'] {
  if (first === undefined) return 'text'
  return first.kind === 'voice' ? 'voice' : 'photo'
}
