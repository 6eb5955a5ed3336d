/**
 * What people do to messages: they edit, delete and react.
 */
import type { MessageChange } from '#sdk'
import { type InboundEvent, ignored, type NormalizeContext } from './context.ts'
import { ignoreReason, isOwnMessage, isUserMessage, normalizeMessage, toMessageEvent } from './message.ts'
import { isRecord, type JsonRecord, recordAt, textAt, tsAt, tsToTime } from './payload.ts'
import { changeKey, type MessageLocation, messageKey, sourceOf } from './source.ts'

/** `message_changed`: an edit, a link preview, a file that was taken away, a deleted message that has a thread. */
export function normalizeEdit(event: JsonRecord, view: NormalizeContext): InboundEvent {
  const channel = textAt(event, 'channel')
  const changed = recordAt(event, 'message')
  const ts = tsAt(changed)
  if (channel === undefined || ts === undefined) return ignored('an edit without a channel or a message')
  const before = recordAt(event, 'previous_message')
  if (textAt(changed, 'subtype') === 'tombstone')
    return toDeletion(before, channel, ts, tsAt(event, 'event_ts'), event, view)
  if (isOwnMessage(changed, view)) return ignored('our own edit')
  if (!isUserMessage(changed)) return ignored('an edit of a notice')
  const editedTs = tsAt(recordAt(changed, 'edited'))
  if (editedTs === undefined || editedTs === tsAt(recordAt(before, 'edited'))) return ignored('nobody edited the text')
  if (isRecord(event['previous_message']) && textAt(before, 'text') === textAt(changed, 'text')) {
    return ignored('the text is as it was')
  }
  const channelType = textAt(event, 'channel_type')
  const place = { channel, channelType, ts, threadTs: tsAt(changed, 'thread_ts') }
  const reason = ignoreReason(changed, place, view)
  const wasAddressed = ignoreReason(before, place, view) === undefined
  if (reason !== undefined && !wasAddressed) return ignored(reason)
  // A mention that was forgotten and added: the agent has not seen this message yet.
  if (!wasAddressed && isRecord(event['previous_message'])) {
    return normalizeMessage({ ...changed, channel, channel_type: channelType }, view)
  }
  return toEdit(changed, place, editedTs, view)
}

/** The message as it reads now. */
export function toEdit(
  message: JsonRecord,
  place: MessageLocation & { readonly ts: string },
  editedTs: string,
  view: NormalizeContext,
): InboundEvent {
  const of = messageKey(place.channel, place.ts, view)
  const change: MessageChange = { kind: 'edited', of, event: toMessageEvent(message, place, view) }
  return { kind: 'change', change, keys: [changeKey(of, 'e', editedTs)] }
}

/** `message_deleted`. */
export function normalizeDeletion(event: JsonRecord, view: NormalizeContext): InboundEvent {
  const channel = textAt(event, 'channel')
  const ts = tsAt(event, 'deleted_ts') ?? tsAt(recordAt(event, 'previous_message'))
  if (channel === undefined || ts === undefined) return ignored('a deletion without a channel or a message')
  return toDeletion(
    recordAt(event, 'previous_message'),
    channel,
    ts,
    tsAt(event, 'event_ts') ?? tsAt(event),
    event,
    view,
  )
}

function toDeletion(
  deleted: JsonRecord,
  channel: string,
  ts: string,
  deletedAt: string | undefined,
  event: JsonRecord,
  view: NormalizeContext,
): InboundEvent {
  if (isOwnMessage(deleted, view)) return ignored('our own deletion')
  if (!isUserMessage(deleted)) return ignored('a notice was deleted')
  const place = { channel, channelType: textAt(event, 'channel_type'), ts, threadTs: tsAt(deleted, 'thread_ts') }
  const reason = ignoreReason(deleted, place, view)
  if (reason !== undefined) return ignored(reason)
  const of = messageKey(channel, ts, view)
  const source = sourceOf(place, { userId: textAt(deleted, 'user') }, view)
  const at = deletedAt ?? ts
  return {
    kind: 'change',
    change: { kind: 'deleted', of, source, timestamp: tsToTime(at) },
    keys: [changeKey(of, 'd', at)],
  }
}

/** `reaction_added` and `reaction_removed`. */
export function normalizeReaction(event: JsonRecord, envelope: JsonRecord, view: NormalizeContext): InboundEvent {
  const item = recordAt(event, 'item')
  const channel = textAt(item, 'channel')
  const ts = tsAt(item)
  const userId = textAt(event, 'user')
  const reaction = textAt(event, 'reaction')
  if (channel === undefined || ts === undefined || userId === undefined || reaction === undefined) {
    return ignored('a reaction to something that is no message')
  }
  if (userId === view.identity.botUserId) return ignored('our own reaction')
  if (view.rules.ignoredChannels.includes(channel)) return ignored('the channel is ignored')
  const added = textAt(event, 'type') === 'reaction_added'
  const at = tsAt(event, 'event_ts') ?? ts
  const itemUserId = textAt(event, 'item_user')
  const change: MessageChange = {
    kind: 'reaction',
    // Which thread the message stands in is not said.
    source: sourceOf({ channel }, { userId, userName: view.userNameOf(userId) }, view),
    added,
    reaction,
    messageId: ts,
    ...(itemUserId === undefined ? {} : { itemUserId }),
    timestamp: tsToTime(at),
    raw: { ...event, team_id: textAt(envelope, 'team_id') ?? view.identity.teamId },
  }
  const sign = added ? '+' : '-'
  return {
    kind: 'change',
    change,
    keys: [changeKey(messageKey(channel, ts, view), 'r', `${sign}${reaction}:${userId}:${at}`)],
  }
}
