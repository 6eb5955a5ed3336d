/**
 * The state of the local Discord: users, one server with its channels, threads, direct chats and messages. Objects have the
 * documented form.
 */
export interface User {
  readonly id: string
  readonly username: string
  readonly global_name: string | null
  readonly discriminator: string
  readonly avatar: null
  readonly bot?: boolean
}

export interface Channel {
  readonly id: string
  /** 0 text, 1 direct, 5 announcements, 11 public thread, 15 forum. */
  readonly type: number
  readonly guild_id?: string
  readonly name?: string
  readonly topic?: string | null
  readonly parent_id?: string | null
  readonly owner_id?: string
  readonly recipients?: readonly User[]
  last_message_id: string | null
  /** Members of the thread. */
  readonly members?: Set<string>
}

export interface Message {
  readonly id: string
  readonly channel_id: string
  readonly author: User
  content: string
  readonly timestamp: string
  edited_timestamp: string | null
  readonly type: number
  flags: number
  mentions: readonly User[]
  readonly mention_roles: readonly string[]
  readonly mention_everyone: boolean
  readonly tts: boolean
  readonly pinned: boolean
  attachments: readonly Record<string, unknown>[]
  embeds: readonly Record<string, unknown>[]
  components: readonly Record<string, unknown>[]
  readonly nonce?: string | number
  readonly message_reference?: Record<string, unknown>
  readonly referenced_message?: Message | null
  readonly webhook_id?: string
  readonly reactions: Map<string, Set<string>>
  readonly extra: Record<string, unknown>
}

export interface Role {
  readonly id: string
  readonly name: string
  readonly tags?: { readonly bot_id: string }
}

export interface NewMessage {
  readonly content?: string
  readonly type?: number
  readonly flags?: number
  readonly mentions?: readonly User[]
  readonly mention_roles?: readonly string[]
  readonly attachments?: readonly Record<string, unknown>[]
  readonly embeds?: readonly Record<string, unknown>[]
  readonly components?: readonly Record<string, unknown>[]
  readonly nonce?: string | number
  readonly message_reference?: Record<string, unknown>
  readonly webhook_id?: string
  /** Further fields of the payload: a poll, stickers, snapshots. */
  readonly extra?: Record<string, unknown>
}

const epochMs = 1_420_070_400_000n

export function createWorld(now: () => number = Date.now) {
  let counter = 0n
  const users = new Map<string, User>()
  const channels = new Map<string, Channel>()
  const messages = new Map<string, Message[]>()
  const roles = new Map<string, Role>()
  /** User id → role ids. */
  const memberRoles = new Map<string, string[]>()
  const guildId = id()

  /** Ids increase and contain their creation time. */
  function id(at = now()): string {
    counter += 1n
    return String(((BigInt(at) - epochMs) << 22n) + (counter & 0x3f_ffffn))
  }

  function user(username: string, bot = false): User {
    const made: User = {
      id: id(),
      username,
      global_name: bot ? null : username,
      discriminator: '0',
      avatar: null,
      ...(bot ? { bot } : {}),
    }
    users.set(made.id, made)
    return made
  }

  function addChannel(channel: Omit<Channel, 'last_message_id'>): Channel {
    const made: Channel = { ...channel, last_message_id: null }
    channels.set(made.id, made)
    messages.set(made.id, [])
    return made
  }

  return {
    guildId,
    users,
    channels,
    roles,
    memberRoles,
    id,
    user,
    channel: (name: string, type = 0, more: Partial<Channel> = {}) =>
      addChannel({ id: id(), type, guild_id: guildId, name, topic: null, parent_id: null, ...more }),
    /** The direct chat of a bot and a user; always the same. */
    dm(bot: User, other: User): Channel {
      const known = [...channels.values()].find(({ type, recipients = [] }) => {
        return (
          type === 1 && recipients.some((one) => one.id === other.id) && recipients.some((one) => one.id === bot.id)
        )
      })
      return known ?? addChannel({ id: id(), type: 1, recipients: [other, bot] })
    },
    thread: (parent: Channel, name: string, owner: User, threadId = id()) =>
      addChannel({
        id: threadId,
        type: parent.type === 5 ? 10 : 11,
        guild_id: guildId,
        name,
        parent_id: parent.id,
        owner_id: owner.id,
        members: new Set([owner.id]),
      }),
    role(name: string, botId?: string): Role {
      const made = { id: id(), name, ...(botId === undefined ? {} : { tags: { bot_id: botId } }) }
      roles.set(made.id, made)
      return made
    },
    messages: (channel: string): readonly Message[] => messages.get(channel) ?? [],
    message: (channel: string, message: string) => messages.get(channel)?.find((one) => one.id === message),
    post(channel: Channel, author: User, given: NewMessage): Message {
      const content = given.content ?? ''
      const referenced = given.message_reference?.['message_id']
      const quoted = messages.get(channel.id)?.find((one) => one.id === referenced)
      const isForward = given.message_reference?.['type'] === 1
      const made: Message = {
        id: id(),
        channel_id: channel.id,
        author,
        content,
        timestamp: new Date(now()).toISOString(),
        edited_timestamp: null,
        type: given.type ?? (given.message_reference === undefined || isForward ? 0 : 19),
        flags: given.flags ?? 0,
        mentions: given.mentions ?? mentionedIn(content),
        mention_roles: given.mention_roles ?? [...content.matchAll(/<@&(\d+)>/g)].map(([, role = '']) => role),
        mention_everyone: false,
        tts: false,
        pinned: false,
        attachments: given.attachments ?? [],
        embeds: given.embeds ?? [],
        components: given.components ?? [],
        ...(given.nonce === undefined ? {} : { nonce: given.nonce }),
        ...(given.message_reference === undefined ? {} : { message_reference: given.message_reference }),
        ...(given.message_reference === undefined || isForward ? {} : { referenced_message: quoted ?? null }),
        ...(given.webhook_id === undefined ? {} : { webhook_id: given.webhook_id }),
        reactions: new Map(),
        extra: given.extra ?? {},
      }
      messages.get(channel.id)?.push(made)
      channel.last_message_id = made.id
      return made
    },
    remove(channel: string, message: string): boolean {
      const list = messages.get(channel) ?? []
      const at = list.findIndex((one) => one.id === message)
      if (at !== -1) list.splice(at, 1)
      return at !== -1
    },
    /** The payload of a message. `withNonce` only in the response and in the event that created it. */
    shown(message: Message, withNonce = false): Record<string, unknown> {
      const { reactions, extra, nonce, referenced_message: quoted, ...plain } = message
      return {
        ...plain,
        ...extra,
        ...(nonce !== undefined && withNonce ? { nonce } : {}),
        ...(quoted === undefined ? {} : { referenced_message: quoted === null ? null : withoutQuote(quoted) }),
        ...(reactions.size === 0
          ? {}
          : { reactions: [...reactions.keys()].map((name) => ({ emoji: { id: null, name } })) }),
      }
    },
    shownChannel({ members, ...channel }: Channel, viewer: User): Record<string, unknown> {
      return {
        ...channel,
        ...(members?.has(viewer.id) ? { member: { id: channel.id, user_id: viewer.id, flags: 0 } } : {}),
      }
    },
    member: (userId: string) => ({
      roles: memberRoles.get(userId) ?? [],
      nick: null,
      joined_at: '2024-05-05T00:00:00.000000+00:00',
      deaf: false,
      mute: false,
      flags: 0,
    }),
    guild(viewer: User): Record<string, unknown> {
      const mine = [...channels.values()].filter((channel) => channel.guild_id === guildId)
      const isThread = ({ type }: Channel) => type >= 10 && type <= 12
      const show = (channel: Channel) => this.shownChannel(channel, viewer)
      return {
        id: guildId,
        name: 'Engine Makers',
        owner_id: viewer.id,
        unavailable: false,
        member_count: users.size,
        large: false,
        joined_at: '2024-05-05T00:00:00.000000+00:00',
        roles: [{ id: guildId, name: '@everyone' }, ...roles.values()],
        emojis: [],
        stickers: [],
        features: [],
        voice_states: [],
        presences: [],
        stage_instances: [],
        guild_scheduled_events: [],
        members: [{ user: viewer, ...this.member(viewer.id) }],
        channels: mine.filter((channel) => !isThread(channel)).map(show),
        threads: mine.filter(isThread).map(show),
      }
    },
  }

  function mentionedIn(content: string): User[] {
    return [...content.matchAll(/<@!?(\d+)>/g)].flatMap(([, mentioned = '']) => users.get(mentioned) ?? [])
  }

  function withoutQuote({
    reactions: _reactions,
    extra,
    nonce: _nonce,
    referenced_message: _quoted,
    ...plain
  }: Message) {
    return { ...plain, ...extra }
  }
}

export type World = ReturnType<typeof createWorld>
