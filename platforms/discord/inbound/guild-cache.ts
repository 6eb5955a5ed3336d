/**
 * What is known of servers, channels and roles, from events of Discord's gateway and from single REST calls. Keeps only the
 * fields that are needed to address and normalize a message.
 */
import type { FoundChat } from '#sdk'
import {
  type Dispatch,
  idAt,
  idsAt,
  isTrueAt,
  type JsonRecord,
  nonEmptyTextAt,
  numberAt,
  recordAt,
  recordsAt,
  textAt,
} from './payload.ts'

/** Discord's channel types that are used here. */
export const channelTypes = {
  text: 0,
  dm: 1,
  groupDm: 3,
  announcement: 5,
  threads: [10, 11, 12],
} as const

export interface Channel {
  readonly id: string
  readonly type: number
  readonly name?: string
  readonly topic?: string
  readonly guildId?: string
  /** The channel of a thread, or the category of a channel. */
  readonly parentId?: string
  /** The user who opened the thread. */
  readonly ownerId?: string
  /** The bot is a member of the thread. */
  readonly joined?: boolean
}

export interface BotUser {
  readonly id: string
  readonly name: string
  readonly applicationId: string
}

export interface GuildCache {
  /** Undefined before the first READY. */
  botUser(): BotUser | undefined
  channel(id: string): Channel | undefined
  /** The channels of servers in which messages can be written. */
  writableChannels(): readonly FoundChat[]
  /** By channel: the newest message, of the servers that this session has received. */
  newestMessages(): ReadonlyMap<string, string>
  roleName(id: string): string | undefined
  /** Whether this is the bot's own role on a server; a mention of it is a mention of the bot. */
  isOwnRole(id: string): boolean
  /** Takes the payload of READY. */
  handleReady(data: JsonRecord): void
  /** Updates servers, channels, threads and roles from an event. Never throws. */
  update(event: Dispatch): void
  /** Takes a channel object of the REST API or of an interaction. */
  updateChannel(data: JsonRecord): Channel | undefined
}

/** Limit of remembered direct chats. */
const maxDmChannels = 10_000

export function createGuildCache(): GuildCache {
  let bot: BotUser | undefined
  const channels = new Map<string, Channel>()
  const direct = new Map<string, Channel>()
  const newest = new Map<string, string>()
  const guildNames = new Map<string, string>()
  const roles = new Map<string, { readonly guildId: string; readonly name: string; readonly isOwn: boolean }>()

  const self: GuildCache = {
    botUser: () => bot,
    channel: (id) => channels.get(id) ?? direct.get(id),
    writableChannels: () =>
      [...channels.values()].flatMap(({ id, type, name, guildId = '' }): FoundChat[] => {
        if (name === undefined || (type !== channelTypes.text && type !== channelTypes.announcement)) return []
        return [{ chatId: id, name, server: guildNames.get(guildId) }]
      }),
    newestMessages: () => newest,
    roleName: (id) => roles.get(id)?.name,
    isOwnRole: (id) => roles.get(id)?.isOwn === true,
    handleReady(data) {
      newest.clear()
      const user = recordAt(data, 'user')
      const id = idAt(user, 'id')
      if (id === undefined) return
      const applicationId = idAt(recordAt(data, 'application'), 'id') ?? id
      bot = { id, name: nonEmptyTextAt(user, 'username') ?? '', applicationId }
    },
    update({ t, d }) {
      switch (t) {
        case 'GUILD_CREATE':
          return updateGuild(d)
        case 'GUILD_DELETE':
          // `unavailable` means an outage of Discord; the bot is still a member.
          return isTrueAt(d, 'unavailable') ? undefined : removeGuild(idAt(d, 'id'))
        case 'GUILD_ROLE_CREATE':
        case 'GUILD_ROLE_UPDATE':
          return updateRole(recordAt(d, 'role'), idAt(d, 'guild_id'))
        case 'GUILD_ROLE_DELETE':
          roles.delete(idAt(d, 'role_id') ?? '')
          return
        case 'CHANNEL_CREATE':
        case 'CHANNEL_UPDATE':
        case 'THREAD_CREATE':
        case 'THREAD_UPDATE':
          self.updateChannel(d)
          return
        case 'THREAD_LIST_SYNC':
          return updateThreads(d)
        case 'CHANNEL_DELETE':
        case 'THREAD_DELETE':
          channels.delete(idAt(d, 'id') ?? '')
          return
        case 'THREAD_MEMBER_UPDATE':
          return setJoined(idAt(d, 'id'), true)
        case 'THREAD_MEMBERS_UPDATE':
          return updateThreadMembers(d)
        case 'INTERACTION_CREATE':
          return addInteractionChannel(recordAt(d, 'channel'), idAt(d, 'guild_id'))
      }
    },
    updateChannel: (data) => storeChannel(data, idAt(data, 'guild_id')),
  }
  return self

  function updateGuild(guild: JsonRecord): void {
    const guildId = idAt(guild, 'id')
    if (guildId === undefined || isTrueAt(guild, 'unavailable')) return
    const name = nonEmptyTextAt(guild, 'name')
    if (name !== undefined) guildNames.set(guildId, name)
    for (const role of recordsAt(guild, 'roles')) updateRole(role, guildId)
    for (const channel of [...recordsAt(guild, 'channels'), ...recordsAt(guild, 'threads')]) {
      const known = storeChannel(channel, guildId)
      const last = idAt(channel, 'last_message_id')
      if (known !== undefined && last !== undefined) newest.set(known.id, last)
    }
  }

  function removeGuild(guildId: string | undefined): void {
    guildNames.delete(guildId ?? '')
    for (const [id, channel] of channels) if (channel.guildId === guildId) channels.delete(id)
    for (const [id, role] of roles) if (role.guildId === guildId) roles.delete(id)
  }

  function updateRole(role: JsonRecord | undefined, guildId: string | undefined): void {
    const id = idAt(role, 'id')
    if (id === undefined || guildId === undefined) return
    const isOwn = bot !== undefined && idAt(recordAt(role, 'tags'), 'bot_id') === bot.id
    roles.set(id, { guildId, name: textAt(role, 'name') ?? '', isOwn })
  }

  function updateThreads(list: JsonRecord): void {
    const joined = new Set(recordsAt(list, 'members').map((member) => idAt(member, 'id')))
    for (const thread of recordsAt(list, 'threads')) {
      const known = storeChannel(thread, idAt(list, 'guild_id'))
      if (known !== undefined && joined.has(known.id)) setJoined(known.id, true)
    }
  }

  /** Discord sends this event without further intents when the bot itself was added or removed. */
  function updateThreadMembers(change: JsonRecord): void {
    const id = idAt(change, 'id')
    if (recordsAt(change, 'added_members').some((member) => idAt(member, 'user_id') === bot?.id)) setJoined(id, true)
    if (bot !== undefined && idsAt(change, 'removed_member_ids').includes(bot.id)) setJoined(id, false)
  }

  /** The channel object of an interaction has fewer fields than that of the gateway, so it does not replace a known one. */
  function addInteractionChannel(channel: JsonRecord | undefined, guildId: string | undefined): void {
    if (channel !== undefined && self.channel(idAt(channel, 'id') ?? '') === undefined) storeChannel(channel, guildId)
  }

  function setJoined(id: string | undefined, joined: boolean): void {
    const known = channels.get(id ?? '')
    if (known !== undefined) channels.set(known.id, { ...known, joined })
  }

  function storeChannel(data: JsonRecord, guildId: string | undefined): Channel | undefined {
    const channel = parseChannel(data, guildId)
    if (channel === undefined) return undefined
    const before = self.channel(channel.id)
    // Updates leave out fields that did not change.
    const merged = { ...before, ...channel }
    if (channel.guildId !== undefined) channels.set(channel.id, merged)
    else remember(direct, merged)
    return merged
  }
}

export function isThread(channel: Channel | undefined): boolean {
  return channel !== undefined && channelTypes.threads.some((type) => type === channel.type)
}

function parseChannel(data: JsonRecord, guildId: string | undefined): Channel | undefined {
  const id = idAt(data, 'id')
  const type = numberAt(data, 'type')
  if (id === undefined || type === undefined) return undefined
  return {
    id,
    type,
    ...optionalField('name', nonEmptyTextAt(data, 'name')),
    ...optionalField('topic', nonEmptyTextAt(data, 'topic')),
    ...optionalField('guildId', guildId),
    ...optionalField('parentId', idAt(data, 'parent_id')),
    ...optionalField('ownerId', idAt(data, 'owner_id')),
    ...(recordAt(data, 'member') === undefined ? {} : { joined: true }),
  }
}

function remember(map: Map<string, Channel>, channel: Channel): void {
  map.delete(channel.id)
  map.set(channel.id, channel)
  if (map.size <= maxDmChannels) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}

function optionalField<Key extends string>(key: Key, value: string | undefined): { [K in Key]?: string } {
  const field: { [K in Key]?: string } = {}
  if (value !== undefined) field[key] = value
  return field
}
