/**
 * A made-up Slack workspace: its people, channels, messages and files. What happens in it is told to the user who listens, as
 * the events of the Events API.
 */
export type Json = Readonly<Record<string, unknown>>

export interface Channel {
  readonly id: string
  readonly name: string
  readonly kind: 'im' | 'mpim' | 'channel' | 'group'
  /** The bot is a member. */
  joined: boolean
  archived: boolean
  readonly messages: Message[]
}

export interface Message {
  readonly ts: string
  /** The user who wrote it; absent for a message of another app without a user. */
  readonly user?: string
  readonly bot_id?: string
  readonly thread_ts?: string
  readonly subtype?: string
  text: string
  blocks?: readonly Json[]
  files?: readonly Json[]
  metadata?: Json
  edited?: { readonly user: string; readonly ts: string }
  streaming_state?: 'in_progress' | 'completed'
  deleted?: boolean
  readonly extra?: Json
}

export interface Workspace {
  readonly teamId: string
  readonly appId: string
  readonly bot: { readonly userId: string; readonly botId: string; readonly name: string }
  readonly channels: ReadonlyMap<string, Channel>
  readonly users: ReadonlyMap<string, string>
  /** More of what `users.info` returns, by user. */
  readonly userFields: Map<string, Readonly<Record<string, unknown>>>
  channel(id: string): Channel | undefined
  addChannel(id: string, kind: Channel['kind'], joined?: boolean, name?: string): Channel
  addUser(id: string, name: string): void
  /** A new `ts`, greater than every earlier one. */
  nextTs(): string
  /** A user writes. Tells `message`, and `app_mention` where the bot is mentioned. */
  post(channel: string, message: Omit<Message, 'ts'> & { readonly ts?: string }): Message
  /** Each of these gives back the time of its event. */
  edit(channel: string, ts: string, change: Partial<Message>, by: string): string
  remove(channel: string, ts: string): string
  react(channel: string, ts: string, user: string, name: string, added: boolean): string
  find(channel: string, ts: string): Message | undefined
  /** Returns the message as the Web API and events show it. */
  shown(message: Message): Json
  /** Told of every event, as the inner `event` of the Events API. */
  onEvent(listener: (event: Json, channel: string) => void): void
  /** Told after every change. */
  onChange(listener: () => void): void
}

export interface WorkspaceOptions {
  readonly teamId?: string
  readonly botUserId?: string
}

export function createWorkspace({ teamId = 'T0TEAM001', botUserId = 'U0BOT0001' }: WorkspaceOptions = {}): Workspace {
  const bot = { userId: botUserId, botId: `B${botUserId.slice(1)}`, name: 'hermes' }
  const channels = new Map<string, Channel>()
  const users = new Map<string, string>()
  const listeners: ((event: Json, channel: string) => void)[] = []
  const watchers: (() => void)[] = []
  let lastMicros = 0

  /** By the clock, so that what is new is told from what is old; no two are alike. */
  const nextTs = () => {
    lastMicros = Math.max(lastMicros + 100, Date.now() * 1_000)
    return `${Math.floor(lastMicros / 1_000_000)}.${String(lastMicros % 1_000_000).padStart(6, '0')}`
  }
  const tell = (event: Json, channel: string) => {
    for (const listener of listeners) listener(event, channel)
  }
  const changed = () => {
    for (const watcher of watchers) watcher()
  }
  const find = (channel: string, ts: string) =>
    channels.get(channel)?.messages.find((message) => message.ts === ts && message.deleted !== true)
  const typeOf = (channel: string) => channels.get(channel)?.kind ?? 'channel'

  const workspace: Workspace = {
    teamId,
    appId: 'A0APP0001',
    bot,
    channels,
    users,
    userFields: new Map(),
    channel: (id) => channels.get(id),
    addChannel(id, kind, joined = true, name = id.toLowerCase()) {
      const channel: Channel = { id, name, kind, joined, archived: false, messages: [] }
      channels.set(id, channel)
      return channel
    },
    addUser: (id, name) => void users.set(id, name),
    nextTs,
    find,
    post(channel, { ts = nextTs(), ...given }) {
      const message: Message = { ...given, ts }
      channels.get(channel)?.messages.push(message)
      const shown = workspace.shown(message)
      if (message.subtype !== 'hidden') {
        tell({ type: 'message', ...shown, channel, channel_type: typeOf(channel), event_ts: ts }, channel)
      }
      const mentioned = message.text.includes(`<@${bot.userId}>`) && message.user !== bot.userId
      if (mentioned && typeOf(channel) !== 'im') {
        tell({ ...shown, type: 'app_mention', channel, event_ts: ts }, channel)
      }
      changed()
      return message
    },
    edit(channel, ts, change, by) {
      const message = find(channel, ts)
      const eventTs = nextTs()
      if (message === undefined) return eventTs
      const before = workspace.shown(message)
      Object.assign(message, change, { edited: { user: by, ts: eventTs } })
      const event = { message: workspace.shown(message), previous_message: before }
      tell(hidden('message_changed', channel, eventTs, event), channel)
      changed()
      return eventTs
    },
    remove(channel, ts) {
      const message = find(channel, ts)
      const eventTs = nextTs()
      if (message === undefined) return eventTs
      const before = workspace.shown(message)
      message.deleted = true
      tell(hidden('message_deleted', channel, eventTs, { deleted_ts: ts, previous_message: before }), channel)
      changed()
      return eventTs
    },
    react(channel, ts, user, reaction, added) {
      const message = find(channel, ts)
      const item = { type: 'message', channel, ts }
      const type = added ? 'reaction_added' : 'reaction_removed'
      const eventTs = nextTs()
      tell({ type, user, reaction, item, item_user: message?.user, event_ts: eventTs }, channel)
      return eventTs
    },
    shown(message) {
      const { deleted: _deleted, extra, ...rest } = message
      const parent = [...channels.values()]
        .flatMap(({ messages }) => messages)
        .find(({ ts }) => ts === message.thread_ts && ts !== message.ts)
      return {
        type: 'message',
        ...rest,
        team: teamId,
        ...(parent?.user === undefined ? {} : { parent_user_id: parent.user }),
        ...extra,
      }
    },
    onEvent: (listener) => void listeners.push(listener),
    onChange: (listener) => void watchers.push(listener),
  }
  return workspace

  function hidden(subtype: string, channel: string, ts: string, event: Json): Json {
    return {
      type: 'message',
      subtype,
      hidden: true,
      channel,
      ts,
      event_ts: ts,
      channel_type: typeOf(channel),
      ...event,
    }
  }
}
