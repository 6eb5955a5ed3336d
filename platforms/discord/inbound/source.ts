/**
 * The direct chat, channel or thread of a payload, as the gateway addresses it. Pure.
 *
 * The chat of a thread is its channel, so that a target names both. A thread gets the id of the message that it is opened
 * from, so its target and its session are the same before and after it is opened.
 */
import type { SessionSource } from '#sdk'
import { type Channel, channelTypes, isThread } from './guild-cache.ts'
import type { JsonRecord } from './payload.ts'
import { idAt, numberAt } from './payload.ts'

export interface ChannelContext {
  readonly kind: 'dm' | 'group' | 'thread'
  /** The channel in Discord's sense: of a thread its own id. */
  readonly channelId: string
  /** The ids that options may name: a thread also counts as its channel. */
  readonly configIds: readonly string[]
  readonly type?: number | undefined
  readonly ownerId?: string | undefined
  readonly joined: boolean
  readonly source: Pick<
    SessionSource,
    'chatId' | 'chatType' | 'chatName' | 'chatTopic' | 'threadId' | 'scopeId' | 'parentChatId'
  >
}

/** `data` is any payload with `channel_id` and, on a server, `guild_id`. Undefined without a channel. */
export function channelContextOf(data: JsonRecord, known: Channel | undefined): ChannelContext | undefined {
  const channelId = idAt(data, 'channel_id')
  if (channelId === undefined) return undefined
  const guildId = idAt(data, 'guild_id') ?? known?.guildId
  const type = known?.type ?? numberAt(data, 'channel_type')
  const common = { channelId, joined: known?.joined === true, type }
  if (guildId === undefined && type !== channelTypes.groupDm) {
    return { ...common, kind: 'dm', configIds: [channelId], source: { chatId: channelId, chatType: 'dm' } }
  }
  const names = {
    chatName: known?.name,
    chatTopic: known?.topic,
    scopeId: guildId,
  }
  const parentId = known?.parentId
  if (known === undefined || parentId === undefined || !isThread(known)) {
    const source = { chatId: channelId, chatType: 'group' as const, ...names }
    return { ...common, kind: 'group', configIds: [channelId], source }
  }
  return {
    ...common,
    kind: 'thread',
    configIds: [channelId, parentId],
    ownerId: known.ownerId,
    source: { chatId: parentId, chatType: 'thread', threadId: channelId, parentChatId: parentId, ...names },
  }
}
