/**
 * Reads edits, deletions and reactions.
 */
import { isRecord, type MessageChange } from '#sdk'
import { type InboundEvent, ignored, type NormalizeContext } from './context.ts'
import { ignoreReason, isOwnMessage, isUserMessage, normalizeMessage, toMessageEvent } from './message.ts'
import { type JsonRecord, recordAt, textAt, tsAt, tsToTime } from './payload.ts'
import { changeKey, type MessageLocation, messageKey, sourceOf } from './source.ts'

/** `message_changed`: an edit, a link preview, a removed file, or a deleted message that has a thread. */
export function normalizeEdit(event: JsonRecord, context: NormalizeContext): InboundEvent {
  const channel = textAt(event, 'channel')
  const changed = recordAt(event, 'message')
  const ts = tsAt(changed)
  if (channel === undefined || ts === undefined) return ignored('an edit without a channel or a message')
  const before = recordAt(event, 'previous_message')
  if (textAt(changed, 'subtype') === 'tombstone')
    return toDeletion(before, channel, ts, tsAt(event, 'event_ts'), event, context)
  if (isOwnMessage(changed, context)) return ignored('an edit by the bot')
  if (!isUserMessage(changed)) return ignored('an edit of a notice')
  const editedTs = tsAt(recordAt(changed, 'edited'))
  if (editedTs === undefined || editedTs === tsAt(recordAt(before, 'edited'))) return ignored('not an edit of the text')
  if (isRecord(event['previous_message']) && textAt(before, 'text') === textAt(changed, 'text')) {
    return ignored('the text is unchanged')
  }
  const channelType = textAt(event, 'channel_type')
  const location = { channel, channelType, ts, threadTs: tsAt(changed, 'thread_ts') }
  const reason = ignoreReason(changed, location, context)
  const wasAddressed = ignoreReason(before, location, context) === undefined
  if (reason !== undefined && !wasAddressed) return ignored(reason)
  // The edit added the mention. The gateway has not accepted this message yet.
  if (!wasAddressed && isRecord(event['previous_message'])) {
    return normalizeMessage({ ...changed, channel, channel_type: channelType }, context)
  }
  return toEdit(changed, location, editedTs, context)
}

/** The change with the current text of the message. */
export function toEdit(
  message: JsonRecord,
  location: MessageLocation & { readonly ts: string },
  editedTs: string,
  context: NormalizeContext,
): InboundEvent {
  const of = messageKey(location.channel, location.ts, context)
  const change: MessageChange = { kind: 'edited', of, event: toMessageEvent(message, location, context) }
  return { kind: 'change', change, keys: [changeKey(of, 'e', editedTs)] }
}

/** `message_deleted`. */
export function normalizeDeletion(event: JsonRecord, context: NormalizeContext): InboundEvent {
  const channel = textAt(event, 'channel')
  const ts = tsAt(event, 'deleted_ts') ?? tsAt(recordAt(event, 'previous_message'))
  if (channel === undefined || ts === undefined) return ignored('a deletion without a channel or a message')
  return toDeletion(
    recordAt(event, 'previous_message'),
    channel,
    ts,
    tsAt(event, 'event_ts') ?? tsAt(event),
    event,
    context,
  )
}

function toDeletion(
  deleted: JsonRecord,
  channel: string,
  ts: string,
  deletedAt: string | undefined,
  event: JsonRecord,
  context: NormalizeContext,
): InboundEvent {
  if (isOwnMessage(deleted, context)) return ignored('a deletion by the bot')
  if (!isUserMessage(deleted)) return ignored('a deletion of a notice')
  const location = { channel, channelType: textAt(event, 'channel_type'), ts, threadTs: tsAt(deleted, 'thread_ts') }
  const reason = ignoreReason(deleted, location, context)
  if (reason !== undefined) return ignored(reason)
  const of = messageKey(channel, ts, context)
  const source = sourceOf(location, { userId: textAt(deleted, 'user') }, context)
  const at = deletedAt ?? ts
  return {
    kind: 'change',
    change: { kind: 'deleted', of, source, timestamp: tsToTime(at) },
    keys: [changeKey(of, 'd', at)],
  }
}

/** `reaction_added` and `reaction_removed`. */
export function normalizeReaction(event: JsonRecord, envelope: JsonRecord, context: NormalizeContext): InboundEvent {
  const item = recordAt(event, 'item')
  const channel = textAt(item, 'channel')
  const ts = tsAt(item)
  const userId = textAt(event, 'user')
  const reaction = textAt(event, 'reaction')
  if (channel === undefined || ts === undefined || userId === undefined || reaction === undefined) {
    return ignored('a reaction to something other than a message')
  }
  if (userId === context.identity.botUserId) return ignored('a reaction by the bot')
  if (context.rules.ignoredChannels.includes(channel)) return ignored('the channel is ignored')
  const added = textAt(event, 'type') === 'reaction_added'
  const at = tsAt(event, 'event_ts') ?? ts
  const itemUserId = textAt(event, 'item_user')
  const change: MessageChange = {
    kind: 'reaction',
    // Slack does not send the thread of the message.
    source: sourceOf({ channel }, { userId, userName: context.nameOf(userId) }, context),
    added,
    reaction,
    messageId: ts,
    itemUserId,
    timestamp: tsToTime(at),
    raw: { ...event, team_id: textAt(envelope, 'team_id') ?? context.identity.teamId },
  }
  const sign = added ? '+' : '-'
  return {
    kind: 'change',
    change,
    keys: [changeKey(messageKey(channel, ts, context), 'r', `${sign}${reaction}:${userId}:${at}`)],
  }
}
