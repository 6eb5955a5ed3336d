/**
 * Converts message events and changes into the payload keys of the contract (§3.1).
 */
import type { MessageChange } from '../../message/change.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { SessionSource } from '../../message/source.ts'

export function eventPayload(event: MessageEvent) {
  const { source, text, messageType, messageId, timestamp, attachments = [], replyTo, internal, metadata } = event
  return {
    text,
    message_type: messageType,
    message_id: messageId ?? null,
    timestamp: new Date(timestamp).toISOString(),
    user_id: source.userId ?? null,
    user_name: source.userName ?? null,
    source: sourcePayload(source),
    // Files are downloaded after the message was accepted, so there may be no path yet.
    media_urls: attachments.map(({ path, url, ref }) => path ?? url ?? ref ?? ''),
    media_types: attachments.map(({ kind, mimeType }) => mimeType ?? kind),
    reply_to_message_id: replyTo?.messageId ?? null,
    reply_to_text: replyTo?.text ?? null,
    reply_to_author_id: replyTo?.authorId ?? null,
    reply_to_author_name: replyTo?.authorName ?? null,
    reply_to_is_own_message: replyTo?.isOwnMessage ?? false,
    internal: internal === true,
    allow_gateway_control: event.allowGatewayControl !== false,
    metadata: { ...metadata },
  }
}

export function sourcePayload(source: SessionSource) {
  return {
    platform: source.platform,
    account: source.account,
    chat_id: source.chatId,
    chat_name: source.chatName ?? null,
    chat_type: source.chatType,
    user_id: source.userId ?? null,
    user_name: source.userName ?? null,
    thread_id: source.threadId ?? null,
    chat_topic: source.chatTopic ?? null,
    user_id_alt: source.userIdAlt ?? null,
    chat_id_alt: source.chatIdAlt ?? null,
    is_bot: source.isBot === true,
    scope_id: source.scopeId ?? null,
    parent_chat_id: source.parentChatId ?? null,
  }
}

/** Returns `event_type` and `payload`. */
export function changePayload(change: MessageChange) {
  switch (change.kind) {
    case 'edited':
      return { event_type: 'message_edited', payload: eventPayload(change.event) }
    case 'deleted':
      return { event_type: 'message_deleted', payload: { event_key: change.of, source: sourcePayload(change.source) } }
    case 'reaction': {
      const { source, added, reaction, messageId, itemUserId = null } = change
      return {
        event_type: 'reaction',
        payload: { added, reaction, message_id: messageId, item_user_id: itemUserId, source: sourcePayload(source) },
      }
    }
  }
}

export function sourceOfChange(change: MessageChange): SessionSource {
  return change.kind === 'edited' ? change.event.source : change.source
}
