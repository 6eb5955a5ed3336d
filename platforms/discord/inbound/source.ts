/**
 * Where something happened: direct chat, channel or thread, as the gateway addresses it. Pure.
 *
 * A thread's chat is its channel. So the address of an answer names both, and a thread that is still to be opened from a
 * message (its id will be that message's) has the address, and the session, that it has later on.
 */
import type { SessionSource } from '#sdk'
import { type Channel, channelTypes, isThread } from './guild-cache.ts'
import type { JsonRecord } from './payload.ts'
import { idAt, numberAt } from './payload.ts'

export interface ChannelContext {
  readonly kind: 'dm' | 'group' | 'thread'
  /** As Discord counts: of a thread its own. */
  readonly channelId: string
  /** As settings name it: a thread counts as its channel, too. */
  readonly configIds: readonly string[]
  readonly type?: number
  readonly ownerId?: string
  readonly joined: boolean
  readonly source: Pick<
    SessionSource,
    'chatId' | 'chatType' | 'chatName' | 'chatTopic' | 'threadId' | 'scopeId' | 'parentChatId'
  >
}

/** `data` is any payload with `channel_id` and, on a server, `guild_id`; undefined without a channel. */
export function channelContextOf(data: JsonRecord, known: Channel | undefined): ChannelContext | undefined {
  const channelId = idAt(data, 'channel_id')
  if (channelId === undefined) return undefined
  const guildId = idAt(data, 'guild_id') ?? known?.guildId
  const type = known?.type ?? numberAt(data, 'channel_type')
  const common = { channelId, joined: known?.joined === true, ...(type === undefined ? {} : { type }) }
  if (guildId === undefined && type !== channelTypes.groupDm) {
    return { ...common, kind: 'dm', configIds: [channelId], source: { chatId: channelId, chatType: 'dm' } }
  }
  const names = {
    ...(known?.name === undefined ? {} : { chatName: known.name }),
    ...(known?.topic === undefined ? {} : { chatTopic: known.topic }),
    ...(guildId === undefined ? {} : { scopeId: guildId }),
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
    ...(known.ownerId === undefined ? {} : { ownerId: known.ownerId }),
    source: { chatId: parentId, chatType: 'thread', threadId: channelId, parentChatId: parentId, ...names },
  }
}
