/**
 * What people do to messages: they edit, delete and react.
 */
import type { MessageChange } from '#sdk'
import { changeKey, messageKey, type Place, sourceOf } from './address.ts'
import { type Incoming, ignored, type View } from './incoming.ts'
import { isOwn, isSpoken, normalizeMessage, readMessage, whyNotAddressed } from './normalize-message.ts'
import { type Fields, fieldsIn, isFields, textIn, timeOf, tsIn } from './payload.ts'

/** `message_changed`: an edit, a link preview, a file that was taken away, a deleted message that has a thread. */
export function normalizeEdit(event: Fields, view: View): Incoming {
  const channel = textIn(event, 'channel')
  const changed = fieldsIn(event, 'message')
  const ts = tsIn(changed)
  if (channel === undefined || ts === undefined) return ignored('an edit without a channel or a message')
  const before = fieldsIn(event, 'previous_message')
  if (textIn(changed, 'subtype') === 'tombstone')
    return deletionOf(before, channel, ts, tsIn(event, 'event_ts'), event, view)
  if (isOwn(changed, view)) return ignored('our own edit')
  if (!isSpoken(changed)) return ignored('an edit of a notice')
  const editedTs = tsIn(fieldsIn(changed, 'edited'))
  if (editedTs === undefined || editedTs === tsIn(fieldsIn(before, 'edited'))) return ignored('nobody edited the text')
  if (isFields(event['previous_message']) && textIn(before, 'text') === textIn(changed, 'text')) {
    return ignored('the text is as it was')
  }
  const channelType = textIn(event, 'channel_type')
  const place = { channel, channelType, ts, threadTs: tsIn(changed, 'thread_ts') }
  const reason = whyNotAddressed(changed, place, view)
  const wasAddressed = whyNotAddressed(before, place, view) === undefined
  if (reason !== undefined && !wasAddressed) return ignored(reason)
  // A mention that was forgotten and added: the agent has not seen this message yet.
  if (!wasAddressed && isFields(event['previous_message'])) {
    return normalizeMessage({ ...changed, channel, channel_type: channelType }, view)
  }
  return editOf(changed, place, editedTs, view)
}

/** The message as it reads now. */
export function editOf(
  message: Fields,
  place: Place & { readonly ts: string },
  editedTs: string,
  view: View,
): Incoming {
  const of = messageKey(place.channel, place.ts, view)
  const change: MessageChange = { kind: 'edited', of, event: readMessage(message, place, view) }
  return { kind: 'change', change, keys: [changeKey(of, 'e', editedTs)] }
}

/** `message_deleted`. */
export function normalizeDeletion(event: Fields, view: View): Incoming {
  const channel = textIn(event, 'channel')
  const ts = tsIn(event, 'deleted_ts') ?? tsIn(fieldsIn(event, 'previous_message'))
  if (channel === undefined || ts === undefined) return ignored('a deletion without a channel or a message')
  return deletionOf(
    fieldsIn(event, 'previous_message'),
    channel,
    ts,
    tsIn(event, 'event_ts') ?? tsIn(event),
    event,
    view,
  )
}

function deletionOf(
  deleted: Fields,
  channel: string,
  ts: string,
  deletedAt: string | undefined,
  event: Fields,
  view: View,
): Incoming {
  if (isOwn(deleted, view)) return ignored('our own deletion')
  if (!isSpoken(deleted)) return ignored('a notice was deleted')
  const place = { channel, channelType: textIn(event, 'channel_type'), ts, threadTs: tsIn(deleted, 'thread_ts') }
  const reason = whyNotAddressed(deleted, place, view)
  if (reason !== undefined) return ignored(reason)
  const of = messageKey(channel, ts, view)
  const source = sourceOf(place, { userId: textIn(deleted, 'user') }, view)
  const at = deletedAt ?? ts
  return {
    kind: 'change',
    change: { kind: 'deleted', of, source, timestamp: timeOf(at) },
    keys: [changeKey(of, 'd', at)],
  }
}

/** `reaction_added` and `reaction_removed`. */
export function normalizeReaction(event: Fields, envelope: Fields, view: View): Incoming {
  const item = fieldsIn(event, 'item')
  const channel = textIn(item, 'channel')
  const ts = tsIn(item)
  const userId = textIn(event, 'user')
  const reaction = textIn(event, 'reaction')
  if (channel === undefined || ts === undefined || userId === undefined || reaction === undefined) {
    return ignored('a reaction to something that is no message')
  }
  if (userId === view.identity.botUserId) return ignored('our own reaction')
  if (view.rules.ignoredChannels.includes(channel)) return ignored('the channel is ignored')
  const added = textIn(event, 'type') === 'reaction_added'
  const at = tsIn(event, 'event_ts') ?? ts
  const itemUserId = textIn(event, 'item_user')
  const change: MessageChange = {
    kind: 'reaction',
    // Which thread the message stands in is not said.
    source: sourceOf({ channel }, { userId, userName: view.nameOf(userId) }, view),
    added,
    reaction,
    messageId: ts,
    ...(itemUserId === undefined ? {} : { itemUserId }),
    timestamp: timeOf(at),
    raw: { ...event, team_id: textIn(envelope, 'team_id') ?? view.identity.teamId },
  }
  const sign = added ? '+' : '-'
  return {
    kind: 'change',
    change,
    keys: [changeKey(messageKey(channel, ts, view), 'r', `${sign}${reaction}:${userId}:${at}`)],
  }
}
