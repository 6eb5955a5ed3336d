/**
 * Discord's gateway: hello, heartbeats, sessions with numbered events, resuming, and close codes. One frame is one JSON
 * text, as with `encoding=json`.
 */
import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Message, User, World } from './world.ts'

export const intentBits = {
  guilds: 1 << 0,
  guildMessages: 1 << 9,
  guildReactions: 1 << 10,
  directMessages: 1 << 12,
  directReactions: 1 << 13,
  messageContent: 1 << 15,
} as const

const knownIntents = 0x1ff_ffff
const privilegedIntents = (1 << 1) | (1 << 8) | (1 << 15)

/** A bot with its settings in the Developer Portal. */
export interface Bot {
  readonly user: User
  readonly applicationId: string
  token: string
  /** Privileged intents that are turned on. */
  intents: number
}

interface Session {
  readonly id: string
  readonly bot: Bot
  readonly intents: number
  /** Every event of the session by its number, from 1. */
  readonly events: string[]
  socket: WebSocket | undefined
}

export interface GatewayOptions {
  readonly heartbeatMs: number
  readonly world: World
  readonly bots: readonly Bot[]
  /** Called after a connection was opened, sent a frame or was closed. */
  changed(): void
  /** Where clients resume; known once the server listens. */
  url(): string
}

export interface DiscordGateway {
  /** Counts of new sessions, resumed ones and heartbeats. */
  readonly counts: { identified: number; resumed: number; heartbeats: number }
  /** The current session start limit. */
  readonly limit: { total: number; remaining: number; reset_after: number; max_concurrency: number }
  /** All bots. */
  readonly bots: readonly Bot[]
  connections(): number
  /** Closes every connection with this code. */
  close(code: number): void
  /** Cuts every connection without a close frame. */
  cut(): void
  /** Asks every client to reconnect (op 7). */
  askReconnect(): void
  /** Invalidates the session of every client (op 9). */
  invalidate(resumable: boolean): void
  /** Ends all sessions, so that none can be resumed. */
  forgetSessions(): void
  /** Existing connections stay open, but nothing is sent or received on them. New ones work. */
  freeze(): void
  /** Refuses new connections with this HTTP status; 0 accepts them again. */
  turnAway(status: number): void
  /** New sessions do not receive the state of the server (GUILD_CREATE) until the returned function is called. */
  holdGuild(): () => void
  dispatch(bot: Bot, t: string, d: unknown, intent: number): void
  /** MESSAGE_CREATE and MESSAGE_UPDATE, with the content that the session may see. */
  dispatchMessage(t: string, message: Message): void
  /** Sends an event again, as it happens after a reconnect. */
  repeatLast(t: string): void
}

export function attachGateway(server: Server, options: GatewayOptions): DiscordGateway {
  const { world, bots } = options
  const sockets = new Set<WebSocket>()
  const sessions = new Map<string, Session>()
  const counts = { identified: 0, resumed: 0, heartbeats: 0 }
  const limit = { total: 1_000, remaining: 1_000, reset_after: 86_400_000, max_concurrency: 1 }
  const frozen = new WeakSet<WebSocket>()
  let refusal = 0
  /** Sessions whose server is held back. */
  let waitingForGuild: Set<Session> | undefined
  const webSockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (refusal !== 0) return void socket.end(`HTTP/1.1 ${refusal} Refused\r\nconnection: close\r\n\r\n`)
    webSockets.handleUpgrade(request, socket, head, greet)
  })

  return {
    counts,
    bots,
    limit,
    connections: () => sockets.size,
    close: (code) => each((socket) => socket.close(code)),
    cut: () => each((socket) => socket.terminate()),
    askReconnect: () => each((socket) => tell(socket, { op: 7, d: null })),
    invalidate: (resumable) => each((socket) => tell(socket, { op: 9, d: resumable })),
    forgetSessions: () => sessions.clear(),
    freeze: () =>
      each((socket) => {
        frozen.add(socket)
        socket.pause()
      }),
    turnAway(status) {
      refusal = status
    },
    holdGuild() {
      waitingForGuild = new Set()
      return () => {
        const waiting = waitingForGuild ?? []
        waitingForGuild = undefined
        for (const session of waiting) emit(session, 'GUILD_CREATE', world.guild(session.bot.user))
      }
    },
    dispatch(bot, t, d, intent) {
      for (const session of sessions.values()) {
        if (session.bot === bot && (intent === 0 || (session.intents & intent) !== 0)) emit(session, t, d)
      }
    },
    dispatchMessage(t, message) {
      const channel = world.channels.get(message.channel_id)
      for (const session of sessions.values()) {
        const isDirect = channel?.type === 1
        if (isDirect && !channel.recipients?.some(({ id }) => id === session.bot.user.id)) continue
        const intent = isDirect ? intentBits.directMessages : intentBits.guildMessages
        if ((session.intents & intent) === 0) continue
        emit(session, t, payloadFor(session, message, t === 'MESSAGE_CREATE'))
      }
    },
    repeatLast(t) {
      for (const { socket, events } of sessions.values()) {
        const last = events.findLast((event) => JSON.parse(event).t === t)
        if (socket !== undefined && last !== undefined) socket.send(last)
      }
    },
  }

  function each(act: (socket: WebSocket) => void): void {
    for (const socket of sockets) act(socket)
  }

  function tell(socket: WebSocket, payload: unknown): void {
    write(socket, JSON.stringify(payload))
  }

  function emit(session: Session, t: string, d: unknown): void {
    const event = JSON.stringify({ op: 0, s: session.events.length + 1, t, d })
    session.events.push(event)
    if (session.socket !== undefined) write(session.socket, event)
  }

  function write(socket: WebSocket, text: string): void {
    if (!frozen.has(socket)) socket.send(text)
  }

  /** Without the intent a bot can read only messages that are addressed to it. */
  function payloadFor({ bot, intents }: Session, message: Message, isNew: boolean): Record<string, unknown> {
    const channel = world.channels.get(message.channel_id)
    const isOwn = message.author.id === bot.user.id
    const isMeant = isOwn || channel?.type === 1 || message.mentions.some(({ id }) => id === bot.user.id)
    const mayRead = isMeant || (intents & intentBits.messageContent) !== 0
    return {
      ...world.shown(message, isNew && isOwn),
      ...(mayRead ? {} : { content: '', embeds: [], attachments: [], components: [] }),
      channel_type: channel?.type,
      ...(channel?.guild_id === undefined ? {} : { guild_id: channel.guild_id }),
      ...(channel?.guild_id === undefined || message.webhook_id !== undefined
        ? {}
        : { member: world.member(message.author.id) }),
    }
  }

  function greet(socket: WebSocket): void {
    let session: Session | undefined
    let received: number[] = []
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', (code) => {
      sockets.delete(socket)
      if (session?.socket === socket) {
        session.socket = undefined
        // A client that closes with 1000 or 1001 ends its session.
        if (code === 1000 || code === 1001) sessions.delete(session.id)
      }
      options.changed()
    })
    options.changed()
    tell(socket, { op: 10, d: { heartbeat_interval: options.heartbeatMs } })
    socket.on('message', (data) => {
      received = [...received.filter((at) => at > Date.now() - 60_000), Date.now()]
      if (received.length > 120) return socket.close(4008, 'Rate limited.')
      const payload = parse(String(data))
      if (payload === undefined) return socket.close(4002, 'Decode error.')
      const { op, d } = payload
      if (op === 1) {
        counts.heartbeats += 1
        return tell(socket, { op: 11 })
      }
      if (op !== 2 && op !== 6) return socket.close(session === undefined ? 4003 : 4001)
      if (session !== undefined) return socket.close(4005, 'Already authenticated.')
      session = op === 2 ? identify(socket, d) : resume(socket, d)
    })
    socket.on('message', () => options.changed())
  }

  function identify(socket: WebSocket, d: Record<string, unknown>): Session | undefined {
    const bot = bots.find(({ token }) => token === d['token'])
    const intents = Number(d['intents'] ?? Number.NaN)
    if (bot === undefined) return refuse(socket, 4004, 'Authentication failed.')
    if (!Number.isInteger(intents) || intents < 0 || (intents & ~knownIntents) !== 0)
      return refuse(socket, 4013, 'Invalid intent(s).')
    if ((intents & privilegedIntents & ~bot.intents) !== 0) return refuse(socket, 4014, 'Disallowed intent(s).')
    counts.identified += 1
    limit.remaining -= 1
    const session: Session = { id: randomBytes(16).toString('hex'), bot, intents, events: [], socket }
    sessions.set(session.id, session)
    emit(session, 'READY', {
      v: 10,
      user: bot.user,
      guilds: [{ id: world.guildId, unavailable: true }],
      session_id: session.id,
      resume_gateway_url: options.url(),
      session_type: 'normal',
      private_channels: [],
      shard: [0, 1],
      application: { id: bot.applicationId, flags: bot.intents & intentBits.messageContent ? 1 << 19 : 0 },
    })
    if (waitingForGuild === undefined) emit(session, 'GUILD_CREATE', world.guild(bot.user))
    else waitingForGuild.add(session)
    return session
  }

  function resume(socket: WebSocket, d: Record<string, unknown>): Session | undefined {
    const session = sessions.get(String(d['session_id']))
    const seq = Number(d['seq'])
    if (session === undefined || session.bot.token !== d['token']) {
      tell(socket, { op: 9, d: false })
      return undefined
    }
    if (!Number.isInteger(seq) || seq > session.events.length) return refuse(socket, 4007, 'Invalid seq.')
    counts.resumed += 1
    session.socket?.terminate()
    session.socket = socket
    for (const event of session.events.slice(seq)) write(socket, event)
    emit(session, 'RESUMED', { _trace: [] })
    return session
  }

  function refuse(socket: WebSocket, code: number, reason: string): undefined {
    socket.close(code, reason)
  }
}

function parse(text: string): { op: unknown; d: Record<string, unknown> } | undefined {
  try {
    const { op, d } = JSON.parse(text)
    return { op, d: typeof d === 'object' && d !== null ? d : {} }
  } catch {
    return undefined
  }
}
