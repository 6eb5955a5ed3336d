/**
 * The payload of the gateway events for reactions (contract §1.4). The contract fixes its keys.
 */
import type { ReactionChange } from '../message/change.ts'
import type { HookEvents } from '../message/hook-events.ts'

export function toReactionEvent(change: ReactionChange): HookEvents['reaction:added'] {
  const { source, reaction, itemUserId, messageId, timestamp, raw } = change
  return {
    platform: source.platform,
    reaction,
    user_id: source.userId ?? '',
    item_user_id: itemUserId ?? '',
    item_type: 'message',
    channel_id: source.chatId,
    message_ts: messageId,
    team_id: source.scopeId ?? '',
    event_ts: (timestamp / 1_000).toFixed(6),
    raw_event: raw,
  }
}
