/**
 * A stand-in for the gateway around the web platform: keeps a history in memory, records what was accepted, and serves
 * the adapter's routes over real HTTP as the server does.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type {
  Button,
  ChatEntry,
  ChatQuestion,
  CommandEntry,
  GatewayInfo,
  HttpRoute,
  MessageEvent,
  PlatformContext,
  PressResult,
  ToolCallSummary,
  ToolView,
  TurnResult,
} from '#sdk'
import { createAdapter } from '../../../platforms/web/adapter.ts'
import { statusOf } from '../../../src/http/json-response.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createRecordingContext, type RecordingContext } from '../../kit/recording-context.ts'
import { waitLimitMs } from '../../kit/wait-limit.ts'

export const token = 'test-token-0123456789'
export const target = { platform: 'web', account: 'default', chatId: 'main' }

const outcome: TurnResult = {
  status: 'done',
  text: '',
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
}

export interface Gateway {
  readonly context: PlatformContext
  readonly adapter: ReturnType<typeof createAdapter>
  readonly accepted: MessageEvent[]
  readonly stopped: number[]
  /** The commands of the gateway. */
  readonly commands: CommandEntry[]
  info: GatewayInfo
  /** The model of the conversation, if it is not that of `info`. */
  model?: Pick<GatewayInfo, 'model' | 'provider'>
  /** Thrown by the next `accept`. */
  failWith: Error | undefined
  /** Adds a line to the history without telling anybody. */
  store(from: ChatEntry['from'], text: string, more?: Partial<ChatEntry>): ChatEntry
  /** Adds a line in the middle, as a transaction that ends late does. */
  insert(index: number, text: string): void
  /** Thrown by the next `history`. */
  failHistory: Error | undefined
  /** Stores a file of the agent and sends it, as the outbox does. */
  sendFile(fileName: string, mimeType: string, content: Uint8Array<ArrayBuffer>, caption?: string): Promise<void>
  /** Stores a reply and sends it, as the outbox does. */
  reply(text: string, turnId?: string): Promise<void>
  /** Stores a question and sends it, as the outbox does. Its buttons are `appr:<id>:<answer>`. */
  ask(id: string, text: string, labels?: readonly string[]): Promise<void>
  /** Stores the result of a question and sends it. */
  settle(id: string, result: string, state?: Exclude<ChatQuestion['state'], 'open'>): Promise<void>
  /** The ended tool calls of the history. */
  readonly toolCalls: ToolCallSummary[]
  /** What they did, by the id of the call. */
  readonly toolViews: Map<string, (whole: boolean) => ToolView>
  /** The ids of pressed buttons, in order. */
  readonly presses: string[]
  /** Called for each press. */
  onPress: (buttonId: string) => Promise<PressResult> | PressResult
  draft(id: string, text: string, turnId?: string): Promise<void>
  /** Ends the turn of an accepted message. */
  finish(seq: number): void
  /** Resolves when the adapter has learned of it. */
  ended(seq: number): Promise<void>
  /** Resolves when the next message has been accepted. */
  nextAccepted(): Promise<MessageEvent>
  /** Calls a route as the server would; 401 without the token. */
  request(path: string, init?: RequestInit): Promise<Response>
}

export async function startGateway({ mediaFolder = '' } = {}): Promise<Gateway> {
  const routes: HttpRoute[] = []
  const history: ChatEntry[] = []
  const seqs = new Map<string, number>()
  const outcomes = new Map<number, Pick<PromiseWithResolvers<TurnResult>, 'promise' | 'resolve'>>()
  const waiting: ((event: MessageEvent) => void)[] = []

  const recording = createRecordingContext({ mediaFolder })
  const context: PlatformContext = {
    ...recording.context,
    platform: 'web',
    account: 'default',
    options: { enabled: true },
    log: silentLog,
    home: '/nowhere',
    clock: Date.now,
    async accept(event, keys) {
      if (gateway.failWith !== undefined) {
        const error = gateway.failWith
        gateway.failWith = undefined
        throw error
      }
      const known = seqs.get(keys[0])
      if (known !== undefined) return { status: 'duplicate', seq: known }
      const seq = seqs.size + 1
      seqs.set(keys[0], seq)
      gateway.accepted.push(event)
      const files = (event.attachments ?? []).map(({ kind, path = '', fileName = '', mimeType = '', bytes = 0 }) => {
        const name = path.split('/').slice(-2).join('/')
        return { kind, fileName, mimeType, bytes, name }
      })
      const more = files.length === 0 ? {} : { files }
      gateway.store('user', event.text, {
        messageId: event.messageId,
        ...more,
      })
      for (const resolve of waiting.splice(0)) resolve(event)
      return { status: 'accepted', seq }
    },
    turns: {
      ...recording.context.turns,
      waitForResult(seq, signal) {
        const { promise, resolve, reject } = Promise.withResolvers<TurnResult>()
        outcomes.set(seq, { promise, resolve })
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
        return promise
      },
      async stop(seq) {
        gateway.stopped.push(seq)
      },
    },
    chats: {
      async history(_chat, { after, before, limit }) {
        if (gateway.failHistory !== undefined) throw gateway.failHistory
        const end = before === undefined ? history.length : history.findIndex(({ id }) => id === before)
        if (after === undefined) return history.slice(Math.max(0, end - limit), Math.max(0, end))
        const start = history.findIndex(({ id }) => id === after) + 1
        return history.slice(start, start + limit)
      },
      toolCalls: {
        list: async (_chat, turnIds) => gateway.toolCalls.filter(({ turnId }) => turnIds.includes(turnId)),
        view: async (_chat, { callId }, { whole }) => gateway.toolViews.get(callId)?.(whole),
      },
    },
    questions: {
      ...recording.context.questions,
      async press({ buttonId }) {
        gateway.presses.push(buttonId)
        return gateway.onPress(buttonId)
      },
    },
    route: (route) => void routes.push(route),
    gateway: {
      ...recording.context.gateway,
      info: () => gateway.info,
      modelOf: async () => gateway.model ?? gateway.info,
    },
  }
  const adapter = createAdapter(context)
  const gateway: Gateway = {
    commands: recording.commands,
    context,
    adapter,
    accepted: [],
    stopped: [],
    failWith: undefined,
    failHistory: undefined,
    info: { version: '0.1.0', model: 'gpt-5', provider: 'openai', degraded: [] },
    store(from, text, more = {}) {
      const id = String(history.length + 1).padStart(6, '0')
      const entry: ChatEntry = { id, from, kind: 'message', text, at: Date.now(), ...more }
      history.push(entry)
      return entry
    },
    insert(index, text) {
      history.splice(index, 0, { id: `late-${index}`, from: 'user', kind: 'message', text, at: Date.now() })
    },
    async reply(text, turnId = 't1') {
      const entry = gateway.store('agent', text, { turnId })
      await adapter.send(
        { deliveryId: entry.id, target, text, kind: 'reply', turnId },
        AbortSignal.timeout(waitLimitMs()),
      )
    },
    async sendFile(fileName, mimeType, content, caption = '') {
      const deliveryId = `file-${history.length}`
      const file = { kind: 'image' as const, fileName, mimeType }
      gateway.store('agent', `🖼️ Image: ${fileName}`, { turnId: 't1', files: [{ ...file, caption, deliveryId }] })
      const source = { kind: 'file' as const, bytes: content.length, open: async () => new Blob([content]) }
      const attachment = { ...file, source }
      const message = { deliveryId, target, text: caption, kind: 'reply' as const, turnId: 't1', attachment }
      await adapter.send(message, AbortSignal.timeout(waitLimitMs()))
    },
    toolCalls: [],
    toolViews: new Map(),
    presses: [],
    onPress: () => ({ status: 'taken', text: 'Allowed, this once.' }),
    async ask(id, text, labels = ['Allow once', 'This session', 'Always', 'Deny']) {
      const buttons = labels.map((label, index): Button => {
        const style = index === 0 ? 'primary' : label === 'Deny' ? 'danger' : undefined
        const isText = label === 'Other' ? { isText: true as const } : {}
        return { id: `appr:${id}:${index}`, label, ...(style === undefined ? {} : { style }), ...isText }
      })
      const question = { id, state: 'open' as const, buttons }
      const entry = gateway.store('agent', text, { kind: 'notice', turnId: 't1', question })
      await adapter.send(
        { deliveryId: entry.id, target, text, kind: 'notice', buttons },
        AbortSignal.timeout(waitLimitMs()),
      )
    },
    async settle(id, result, state = 'accepted') {
      const asked = history.findIndex(({ question }) => question?.id === id)
      const entry = history[asked]
      if (entry === undefined) throw new Error(`there is no question ${id}`)
      const question = { id, state, buttons: [] }
      history[asked] = { ...entry, question }
      const { text } = entry
      const shown = `${text}\n\n${result}`
      const closed = gateway.store('agent', shown, { kind: 'notice', turnId: 't1', question })
      const edit = { deliveryId: closed.id, target, text: shown, kind: 'notice' as const }
      await adapter.edit?.(entry.id, edit, true, AbortSignal.timeout(waitLimitMs()))
    },
    async draft(id, text, turnId = 't1') {
      await adapter.send({ deliveryId: id, target, text, kind: 'draft', turnId }, AbortSignal.timeout(waitLimitMs()))
    },
    finish: (seq) => outcomes.get(seq)?.resolve(outcome),
    async ended(seq) {
      await outcomes.get(seq)?.promise
      // The adapter's own steps after the outcome are a few microtasks.
      await new Promise(setImmediate)
    },
    nextAccepted: () => new Promise((resolve) => void waiting.push(resolve)),
    async request(path, init = {}) {
      const request = new Request(`http://127.0.0.1${path}`, init)
      const route = routes.find((known) => known.method === request.method && matchesRoute(known.path, request.url))
      if (route === undefined) return new Response(null, { status: 404 })
      if (route.access === 'token' && request.headers.get('authorization') !== `Bearer ${token}`) {
        const error = { code: 'http/unauthorised', message: 'The request has no valid bearer token.', hint: '' }
        return Response.json({ error }, { status: 401 })
      }
      return route.handle(request)
    },
  }
  await adapter.connect(AbortSignal.timeout(waitLimitMs()))
  routes.push(...adminRoutes(), ...uploadRoutes(recording.upload))
  return gateway
}

function uploadRoutes(upload: RecordingContext['upload']): HttpRoute[] {
  const handle = async (request: Request) => {
    try {
      return await upload(request)
    } catch (error) {
      if (!isHermesError(error)) throw error
      const { code, message, hint } = error
      return Response.json({ error: { code, message, hint } }, { status: statusOf(code) })
    }
  }
  const methods = ['GET', 'POST', 'DELETE'] as const
  return ['/api/uploads', '/api/uploads/{upload_id}'].flatMap((path) =>
    methods.map((method): HttpRoute => ({ method, path, access: 'token', handle })),
  )
}

/** Returns the routes as the admin API serves them. */
function adminRoutes(): HttpRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/models',
      access: 'token',
      handle: () => Response.json({ current: { provider: 'demo', model: '' }, providers: [] }),
    },
    {
      method: 'GET',
      path: '/api/sessions',
      access: 'token',
      handle: () => Response.json({ sessions: [], next_cursor: null }),
    },
  ]
}

function matchesRoute(path: string, url: string): boolean {
  const { pathname } = new URL(url)
  if (path.endsWith('/*')) return pathname.startsWith(path.slice(0, -1))
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
}

export const withToken = { authorization: `Bearer ${token}` }

/** A POST of JSON with the token. */
export function posting(body: unknown): RequestInit {
  return {
    method: 'POST',
    headers: { ...withToken, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

/** The fields of anything that came as JSON. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(Object(value)))
}

/** Reads a stream of lines as events, one at a time. */
export interface LineReader {
  next(): Promise<Record<string, unknown>>
  /** Reads on to the next event of this type. */
  until(type: string): Promise<Record<string, unknown>>
  /** True once the stream has ended, false when a line came instead. */
  ended(): Promise<boolean>
  close(): Promise<void>
}

export function createLineReader(response: Response): LineReader {
  if (response.body === null) throw new Error('the answer has no body')
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const ready: string[] = []
  let rest = ''

  async function line(): Promise<string | null> {
    for (;;) {
      const known = ready.shift()
      if (known !== undefined) return known
      const { done, value } = await reader.read()
      if (done) return null
      const parts = (rest + value).split('\n')
      rest = parts.pop() ?? ''
      ready.push(...parts)
    }
  }

  const lines: LineReader = {
    async next() {
      const text = await line()
      if (text === null) throw new Error('the stream ended')
      return fieldsOf(JSON.parse(text))
    },
    async until(type) {
      for (;;) {
        const event = await lines.next()
        if (event['type'] === type) return event
      }
    },
    ended: async () => (await line().catch(() => null)) === null,
    close: () => reader.cancel(),
  }
  return lines
}

/** The gateway over HTTP on a port of its own. */
export interface TestServer {
  readonly address: string
  /** Another gateway at the same address from now on. */
  use(gateway: Gateway): void
  /** Cuts every connection and, until `open`, refuses new ones; as a gateway that restarts does. */
  refuseConnections(): void
  open(): void
  close(): Promise<void>
}

export async function startTestServer(first: Gateway): Promise<TestServer> {
  let gateway = first
  let shut = false
  const server = createServer((request, response) => {
    if (shut) request.socket.destroy()
    else handleNodeRequest(gateway, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return {
    address: `http://127.0.0.1:${address.port}`,
    use(next) {
      gateway = next
    },
    refuseConnections() {
      shut = true
      server.closeAllConnections()
    },
    open() {
      shut = false
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function handleNodeRequest(gateway: Gateway, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const chunks: Uint8Array[] = []
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk))
  const hangup = new AbortController()
  outgoing.on('close', () => hangup.abort())
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) if (typeof value === 'string') headers.set(name, value)
  const body = chunks.length === 0 ? null : new Uint8Array(Buffer.concat(chunks))
  const init = { method: incoming.method ?? 'GET', headers, body, signal: hangup.signal }
  const response = await gateway.request(incoming.url ?? '/', init)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(response.body), outgoing)
}
