/**
 * What is known of servers, channels and threads: learnt from the events of the gateway, and from single looks at channels
 * it did not tell of. Only what is needed to place a message is kept.
 */
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

/** Discord's numbers of channel types, those that matter here. */
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
  /** The channel of a thread, the category of a channel. */
  readonly parentId?: string
  /** Who opened the thread. */
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
  /** By channel: the newest message of those servers that have told of themselves in this session. */
  newestMessages(): ReadonlyMap<string, string>
  roleName(id: string): string | undefined
  /** The role that Discord gave the bot itself on a server; mentioning it means the bot. */
  isOwnRole(id: string): boolean
  /** The content of READY. */
  handleReady(data: JsonRecord): void
  /** Takes in whatever an event tells of servers, channels and threads. Never throws. */
  update(event: Dispatch): void
  /** A channel object, as the REST API or an interaction has it. */
  updateChannel(data: JsonRecord): Channel | undefined
}

/** So many channels of direct chats are remembered. */
const maxDmChannels = 10_000

export function createGuildCache(): GuildCache {
  let me: BotUser | undefined
  const channels = new Map<string, Channel>()
  const direct = new Map<string, Channel>()
  const newest = new Map<string, string>()
  const roles = new Map<string, { readonly guildId: string; readonly name: string; readonly mine: boolean }>()

  const self: GuildCache = {
    botUser: () => me,
    channel: (id) => channels.get(id) ?? direct.get(id),
    newestMessages: () => newest,
    roleName: (id) => roles.get(id)?.name,
    isOwnRole: (id) => roles.get(id)?.mine === true,
    handleReady(data) {
      newest.clear()
      const user = recordAt(data, 'user')
      const id = idAt(user, 'id')
      if (id === undefined) return
      const applicationId = idAt(recordAt(data, 'application'), 'id') ?? id
      me = { id, name: nonEmptyTextAt(user, 'username') ?? '', applicationId }
    },
    update({ t, d }) {
      switch (t) {
        case 'GUILD_CREATE':
          return learnGuild(d)
        case 'GUILD_DELETE':
          // Unavailable is an outage of Discord's: the bot is still there.
          return isTrueAt(d, 'unavailable') ? undefined : forgetGuild(idAt(d, 'id'))
        case 'GUILD_ROLE_CREATE':
        case 'GUILD_ROLE_UPDATE':
          return learnRole(recordAt(d, 'role'), idAt(d, 'guild_id'))
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
          return learnThreads(d)
        case 'CHANNEL_DELETE':
        case 'THREAD_DELETE':
          channels.delete(idAt(d, 'id') ?? '')
          return
        case 'THREAD_MEMBER_UPDATE':
          return setJoined(idAt(d, 'id'), true)
        case 'THREAD_MEMBERS_UPDATE':
          return learnMembers(d)
        case 'INTERACTION_CREATE':
          return learnPlace(recordAt(d, 'channel'), idAt(d, 'guild_id'))
      }
    },
    updateChannel: (data) => learnChannel(data, idAt(data, 'guild_id')),
  }
  return self

  function learnGuild(guild: JsonRecord): void {
    const guildId = idAt(guild, 'id')
    if (guildId === undefined || isTrueAt(guild, 'unavailable')) return
    for (const role of recordsAt(guild, 'roles')) learnRole(role, guildId)
    for (const channel of [...recordsAt(guild, 'channels'), ...recordsAt(guild, 'threads')]) {
      const known = learnChannel(channel, guildId)
      const last = idAt(channel, 'last_message_id')
      if (known !== undefined && last !== undefined) newest.set(known.id, last)
    }
  }

  function forgetGuild(guildId: string | undefined): void {
    for (const [id, channel] of channels) if (channel.guildId === guildId) channels.delete(id)
    for (const [id, role] of roles) if (role.guildId === guildId) roles.delete(id)
  }

  function learnRole(role: JsonRecord | undefined, guildId: string | undefined): void {
    const id = idAt(role, 'id')
    if (id === undefined || guildId === undefined) return
    const mine = me !== undefined && idAt(recordAt(role, 'tags'), 'bot_id') === me.id
    roles.set(id, { guildId, name: textAt(role, 'name') ?? '', mine })
  }

  function learnThreads(list: JsonRecord): void {
    const joined = new Set(recordsAt(list, 'members').map((member) => idAt(member, 'id')))
    for (const thread of recordsAt(list, 'threads')) {
      const known = learnChannel(thread, idAt(list, 'guild_id'))
      if (known !== undefined && joined.has(known.id)) setJoined(known.id, true)
    }
  }

  /** Sent to the bot without further intents when it was added or removed itself. */
  function learnMembers(change: JsonRecord): void {
    const id = idAt(change, 'id')
    if (recordsAt(change, 'added_members').some((member) => idAt(member, 'user_id') === me?.id)) setJoined(id, true)
    if (me !== undefined && idsAt(change, 'removed_member_ids').includes(me.id)) setJoined(id, false)
  }

  /** An interaction tells of its channel, but less than the gateway does. */
  function learnPlace(channel: JsonRecord | undefined, guildId: string | undefined): void {
    if (channel !== undefined && self.channel(idAt(channel, 'id') ?? '') === undefined) learnChannel(channel, guildId)
  }

  function setJoined(id: string | undefined, joined: boolean): void {
    const known = channels.get(id ?? '')
    if (known !== undefined) channels.set(known.id, { ...known, joined })
  }

  function learnChannel(data: JsonRecord, guildId: string | undefined): Channel | undefined {
    const channel = parseChannel(data, guildId)
    if (channel === undefined) return undefined
    const before = self.channel(channel.id)
    // Updates leave out what did not change.
    const whole = { ...before, ...channel }
    if (channel.guildId !== undefined) channels.set(channel.id, whole)
    else remember(direct, whole)
    return whole
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
