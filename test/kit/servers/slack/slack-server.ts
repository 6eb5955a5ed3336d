/**
 * A local Slack: the Web API, Socket Mode, the Events API over HTTP, files and streams, with faults on demand. It follows
 * Slack's documents and what others have measured; where it is stricter than it must be, it says why.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { WebSocketServer } from 'ws'
import { createFaults, type Faults } from '../faults.ts'
import { readCall } from './call.ts'
import { createDelivery, type Delivery, type DeliveryResult } from './delivery.ts'
import { createWebApi, type StoredFile } from './web-api.ts'
import { createWorkspace, type Json, type Message, type Workspace } from './workspace.ts'

export interface SlackServerOptions {
  readonly teamId?: string
  readonly botUserId?: string
  /** The address of the app in http mode; without it events go over sockets. */
  readonly hook?: () => string
  readonly redeliverMs?: number
  readonly maxTries?: number
  readonly streaming?: 'no' | 'direct' | 'everywhere'
  /** How long a socket lives, as it is greeted, seconds. */
  readonly socketSeconds?: number
}

export interface SlackServer {
  /** For `api_url`. */
  readonly apiUrl: string
  readonly botToken: string
  readonly appToken: string
  readonly signingSecret: string
  readonly workspace: Workspace
  readonly faults: Faults
  readonly delivery: Delivery
  readonly scopes: Set<string>
  readonly streaming: { offered: 'no' | 'direct' | 'everywhere' }
  /** What only one person saw. */
  readonly ephemerals: readonly Json[]
  readonly statuses: readonly Json[]
  /** From now on no token is right. */
  refuseTokens(): void
  /** A user writes. Resolves when the app has acknowledged it, or was asked often enough. */
  say(channel: string, user: string, text: string, more?: Json): Promise<{ ts: string; acknowledged: boolean }>
  /** Whether the app has acknowledged the events of this time. */
  outcomeOf(ts: string): Promise<boolean>
  /** The events of a message once more, under the same ids. */
  repeat(ts: string): Promise<boolean>
  slash(channel: string, user: string, text: string): Promise<DeliveryResult>
  press(channel: string, ts: string, user: string, buttonId: string): Promise<DeliveryResult>
  /** Any inner event, in an envelope of its own. */
  event(event: Json): Promise<DeliveryResult>
  /** A file that a user has. */
  addFile(name: string, mimeType: string, bytes: Uint8Array): Json
  fileBytes(id: string): Uint8Array | undefined
  /** The messages of the bot that stand in a channel, as they read. */
  posts(channel: string): Message[]
  /** Resolves when `look` finds something; looks now, after every change, and every `everyMs` where that is given. */
  until<T>(look: () => T | undefined, everyMs?: number): Promise<T>
  /** Resolves when so many sockets are open. */
  socketsOpen(count: number): Promise<void>
  close(): Promise<void>
}

export async function startSlackServer(options: SlackServerOptions = {}): Promise<SlackServer> {
  const workspace = createWorkspace(options)
  const suffix = options.botUserId ?? 'default'
  // In halves: whole ones look like real secrets to programs that search for them.
  const botToken = ['xoxb', `0001-${suffix}-secret-of-the-bot`].join('-')
  const appToken = ['xapp', `1-${suffix}-secret-of-the-app`].join('-')
  const signingSecret = 'a-signing-secret-0001'
  const scopes = new Set(allScopes)
  const streaming = { offered: options.streaming ?? ('no' as const) }
  const files = new Map<string, StoredFile>()
  const ephemerals: Json[] = []
  const statuses: Json[] = []
  const tickets = new Set<string>()
  const watchers = new Set<() => void>()
  const timers = new Set<NodeJS.Timeout | undefined>()
  const deliveries = new Map<string, { readonly body: Json; readonly result: Promise<DeliveryResult> }[]>()
  let origin = ''
  let refused = false

  const changed = () => {
    for (const look of [...watchers]) look()
  }
  const faults = createFaults({
    unitMs: 1_000,
    tooMany: (waitMs) => ({
      status: 429,
      headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
      body: { ok: false, error: 'ratelimited' },
    }),
  })
  const delivery = createDelivery({
    redeliverMs: options.redeliverMs ?? 3_000,
    maxTries: options.maxTries ?? 3,
    hook: options.hook,
    signingSecret,
    pingMs: 1_000,
    hello: {
      connection_info: { app_id: workspace.appId },
      debug_info: {
        host: 'applink-1',
        build_number: 1,
        ...(options.socketSeconds === undefined ? {} : { approximate_connection_time: options.socketSeconds }),
      },
    },
  })
  const api = createWebApi({
    workspace,
    botToken,
    appToken,
    origin: () => origin,
    ticket() {
      const ticket = randomUUID()
      tickets.add(ticket)
      return ticket
    },
    files,
    scopes,
    streaming,
    ephemerals,
    statuses,
    changed,
  })
  workspace.onChange(changed)
  workspace.onEvent((event, channel) => {
    if (workspace.channel(channel)?.joined !== true) return
    const body = envelopeOf(event)
    const result = delivery.deliver('events_api', body)
    const ts = String(event['event_ts'])
    deliveries.set(ts, [...(deliveries.get(ts) ?? []), { body, result }])
  })

  const server = createServer((request, response) => {
    // A client that hangs up is no fault of ours.
    handle(request, response).catch(() => response.destroy())
  })
  faults.watch(server)
  const webSockets = new WebSocketServer({ server, path: '/link/' })
  webSockets.on('connection', (socket, request) => {
    const ticket = new URL(request.url ?? '/', origin).searchParams.get('ticket') ?? ''
    if (!tickets.delete(ticket)) return socket.close(1008, 'invalid ticket')
    delivery.attach(socket)
    socket.on('close', () => setImmediate(changed))
    changed()
  })
  webSockets.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`

  const self: SlackServer = {
    apiUrl: `${origin}/api/`,
    botToken,
    appToken,
    signingSecret,
    workspace,
    faults,
    delivery,
    scopes,
    streaming,
    ephemerals,
    statuses,
    refuseTokens() {
      refused = true
    },
    async say(channel, user, text, more = {}) {
      const { ts, thread_ts, files: sent, blocks, subtype, bot_id, ...extra } = more
      const message = workspace.post(channel, {
        user,
        text,
        ...(typeof ts === 'string' ? { ts } : {}),
        ...(typeof thread_ts === 'string' ? { thread_ts } : {}),
        ...(typeof subtype === 'string' ? { subtype } : {}),
        ...(typeof bot_id === 'string' ? { bot_id } : {}),
        ...(Array.isArray(sent) ? { files: sent } : {}),
        ...(Array.isArray(blocks) ? { blocks } : {}),
        extra,
      })
      return { ts: message.ts, acknowledged: await outcomeOf(message.ts) }
    },
    outcomeOf,
    async repeat(ts) {
      const again = (deliveries.get(ts) ?? []).map(({ body }) => delivery.deliver('events_api', body))
      return (await Promise.all(again)).every(({ acknowledged }) => acknowledged)
    },
    slash: (channel, user, text) =>
      delivery.deliver('slash_commands', {
        command: '/hermes',
        text,
        user_id: user,
        user_name: workspace.users.get(user) ?? user,
        team_id: workspace.teamId,
        channel_id: channel,
        channel_name: 'general',
        trigger_id: randomUUID(),
        response_url: `${origin}/response/${randomUUID()}`,
      }),
    press(channel, ts, user, buttonId) {
      const message = workspace.find(channel, ts)
      return delivery.deliver('interactive', {
        type: 'block_actions',
        team: { id: workspace.teamId },
        user: { id: user, username: workspace.users.get(user) ?? user, team_id: workspace.teamId },
        channel: { id: channel, name: 'general' },
        container: { type: 'message', message_ts: ts, channel_id: channel, is_ephemeral: false },
        ...(message === undefined ? {} : { message: workspace.shown(message) }),
        actions: [
          { type: 'button', action_id: buttonId, block_id: 'b1', value: buttonId, action_ts: workspace.nextTs() },
        ],
        trigger_id: randomUUID(),
        response_url: `${origin}/response/${randomUUID()}`,
      })
    },
    event: (event) => delivery.deliver('events_api', envelopeOf(event)),
    addFile(name, mimeType, bytes) {
      const id = `F0SENT${files.size + 1}`
      files.set(id, { id, name, length: bytes.length, bytes })
      const url = `${origin}/files-pri/${id}/${encodeURIComponent(name)}`
      return {
        id,
        name,
        title: name,
        mimetype: mimeType,
        size: bytes.length,
        url_private: url,
        url_private_download: url,
      }
    },
    fileBytes: (id) => files.get(id)?.bytes,
    posts: (channel) =>
      (workspace.channel(channel)?.messages ?? []).filter(
        ({ bot_id, deleted }) => bot_id === workspace.bot.botId && deleted !== true,
      ),
    until(look, everyMs) {
      const found = look()
      if (found !== undefined) return Promise.resolve(found)
      return new Promise((resolve) => {
        const timer = everyMs === undefined ? undefined : setInterval(() => watcher(), everyMs)
        const watcher = () => {
          const value = look()
          if (value === undefined) return
          watchers.delete(watcher)
          clearInterval(timer)
          resolve(value)
        }
        watchers.add(watcher)
        timers.add(timer)
      })
    },
    async socketsOpen(count) {
      await self.until(() => (delivery.sockets() === count ? true : undefined))
    },
    async close() {
      for (const timer of timers) clearInterval(timer)
      delivery.close()
      webSockets.close()
      await faults.close()
    },
  }
  return self

  function envelopeOf(event: Json): Json {
    return {
      token: 'unused',
      team_id: workspace.teamId,
      api_app_id: workspace.appId,
      type: 'event_callback',
      event_id: `Ev${randomUUID()}`,
      event_time: Math.floor(Date.now() / 1_000),
      authorizations: [{ team_id: workspace.teamId, user_id: workspace.bot.userId, is_bot: true }],
      event,
    }
  }

  async function outcomeOf(ts: string): Promise<boolean> {
    const results = await Promise.all((deliveries.get(ts) ?? []).map(({ result }) => result))
    return results.every(({ acknowledged }) => acknowledged)
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', origin)
    const body = await buffer(request)
    if (pathname.startsWith('/upload/')) return upload(pathname.split('/')[2] ?? '', body, response)
    if (pathname.startsWith('/files-pri/')) return download(pathname.split('/')[2] ?? '', request, response)
    if (!pathname.startsWith('/api/')) return void response.writeHead(404).end()
    const method = pathname.slice('/api/'.length)
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const call = readCall(
      method,
      refused ? 'no longer right' : token,
      body.toString('utf8'),
      request.headers['content-type'] ?? '',
    )
    const met = await faults.intercept({ method, chat: call.text('channel') }, response)
    if (met === 'answered') return
    const answer = JSON.stringify(api.answer(call))
    if (met === 'lose-answer') return faults.cut(response)
    response.writeHead(200, { 'content-type': 'application/json', 'x-oauth-scopes': [...scopes].join(',') })
    response.end(answer)
  }

  function upload(id: string, body: Buffer, response: ServerResponse): void {
    const file = files.get(id)
    if (file === undefined || body.length !== file.length) return void response.writeHead(400).end('wrong length')
    file.bytes = new Uint8Array(body)
    response.end(`OK - ${body.length}`)
  }

  /** Without the right token Slack answers 200 with a page to sign in. */
  function download(id: string, request: IncomingMessage, response: ServerResponse): void {
    const bytes = files.get(id)?.bytes
    if (request.headers.authorization !== `Bearer ${botToken}`) {
      return void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>Sign in</html>')
    }
    if (bytes === undefined) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes)
  }
}

const allScopes = [
  'app_mentions:read',
  'assistant:write',
  'channels:history',
  'channels:read',
  'chat:write',
  'commands',
  'files:read',
  'files:write',
  'groups:history',
  'groups:read',
  'im:history',
  'im:write',
  'mpim:history',
  'reactions:read',
  'users:read',
]

/** What people read: the signs behind the escapes. */
export function displayed({ text }: Pick<Message, 'text'>): string {
  return text.replaceAll('\u2060', '').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
