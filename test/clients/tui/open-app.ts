/**
 * The terminal interface in this process: on a headless terminal, and at the real console platform behind HTTP. The JSON API
 * answers from a list.
 */
import type { TestContext } from 'node:test'
import type { ApiMessage, ApiSession } from '../../../src/api/shapes/sessions.ts'
import { type AppOptions, startApp } from '../../../src/clients/tui/app.ts'
import { chat, openTerminal, target, token } from '../../platforms/console/terminal.ts'
import { createHeadlessTerminal } from './headless-terminal.ts'

export interface StoredSession {
  readonly id: string
  readonly chat: string
  readonly about: string
  readonly messages?: readonly Partial<ApiMessage>[]
}

export interface OpenAppOptions extends Partial<AppOptions> {
  readonly columns?: number
  readonly rows?: number
  readonly sessions?: readonly StoredSession[]
  /** The chat that the gateway had to find. */
  readonly continued?: string
}

const { signal } = new AbortController()

export async function openApp(t: TestContext, options: OpenAppOptions = {}) {
  const { columns, rows, sessions = [] } = options
  const console = await openTerminal()
  t.after(console.close)
  await console.adapter.connect(signal)
  const terminal = createHeadlessTerminal(columns, rows)
  const remembered: string[] = []
  let now = Date.parse('2026-11-23T12:00:00Z')
  let made = 0
  let isBroken = false
  const served = serve(sessions)
  const app = startApp({
    terminal,
    environment: { NO_COLOR: '1', HOME: '/home/person' },
    version: '1.2.3',
    directory: '/',
    clock: () => now,
    newId: () => [chat, 'chat-2', 'chat-3'][made++] ?? `chat-${made}`,
    history: { read: () => [], add: async (text) => void remembered.push(text) },
    fetch: (input, init) => (isBroken ? Promise.reject(new TypeError('fetch failed')) : served(input, init)),
    signal,
    connect: async () => ({
      ...{ url: console.url, token, model: 'test-model', degraded: [], plugins: [] },
      chat: options.continued,
    }),
    ...options,
  })
  t.after(app.stop)
  void app.done.catch(() => undefined)
  return {
    ...console,
    app,
    terminal,
    target,
    remembered,
    /** Every request fails until this is taken back. */
    breakConnections(broken: boolean) {
      isBroken = broken
    },
    /** Moves the clock. */
    pass(ms: number) {
      now += ms
    },
    /** Waits until the conversation receives events, then types a line. */
    async ask(text: string) {
      await terminal.until(/● test-model/)
      const asked = console.gateway.nextEvent()
      terminal.type(`${text}\r`)
      const { event, accepted } = await asked
      if (accepted.status !== 'accepted') throw new Error('the message was not accepted')
      return { event, seq: accepted.seq }
    },
  }
}

/** The JSON API answers from the list; everything else goes to the server. */
function serve(sessions: readonly StoredSession[]): typeof fetch {
  return async (input, init) => {
    const url = new URL(String(input))
    if (url.pathname === '/api/commands')
      return Response.json([{ name: 'status', description: 'Show what runs', argsHint: '' }])
    if (url.pathname === '/api/sessions') {
      const [only, search = ''] = [url.searchParams.get('chat'), url.searchParams.get('search') ?? undefined]
      const found = sessions.filter(({ chat: one, about }) => (only ?? one) === one && about.includes(search))
      return Response.json({ sessions: found.map(toSession), next_cursor: null })
    }
    const [, session] = /^\/api\/sessions\/([^/]+)\/messages$/.exec(url.pathname) ?? []
    if (session === undefined) return fetch(input, init)
    const messages = sessions.find(({ id }) => id === session)?.messages ?? []
    return Response.json({
      session_id: session,
      messages: messages.toReversed().map((message) => ({ ...plainMessage, ...message })),
      next_cursor: null,
      previous_cursor: null,
    })
  }
}

const time = '2026-11-23T10:00:00.000Z'

const plainMessage: ApiMessage = {
  ...{ id: '1', role: 'user', text: '', truncated: false, tool_calls: [], tool_call_id: null, tool_name: null },
  ...{ attachments: [], status: 'active', is_summary: false, turn_id: null, created_at: time },
}

function toSession({ id, chat, about }: StoredSession): ApiSession {
  return {
    ...{ id, session_key: `cli:${chat}`, platform: 'cli', account: 'default', chat_id: chat, chat_type: 'dm' },
    ...{
      chat_name: null,
      thread_id: null,
      directory: null,
      user_id: 'owner',
      title: '',
      about,
      is_current: true,
      pinned: false,
    },
    ...{ created_at: time, updated_at: time, ended_at: null, end_reason: null, parent_id: null, message_count: 1 },
    ...{ input_tokens: 0, output_tokens: 0, cost: 0 },
  }
}
