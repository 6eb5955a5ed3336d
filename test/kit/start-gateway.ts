/**
 * Runs a gateway in this process for end-to-end tests, with a temporary home directory, the fake platform and a local model
 * server. The gateway can be stopped and started again on the same home.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { type Gateway, type GatewayOptions, startGateway } from '../../src/gateway.ts'
import { createHomeLayout, type HomeLayout } from '../../src/lib/home.ts'
import { withTimeout } from '../../src/lib/timers.ts'
import type { HookEventListener } from '../../src/message/hook-events.ts'
import {
  type FakePlatform,
  installFakePlatform,
  type ShownMessage,
  startFakePlatform,
  type UserMessage,
} from './fake-platform.ts'
import { describeMatcher, type LogMatcher, matchesLogLine } from './log-matcher.ts'
import { writeMigratedDatabase } from './migrated-database.ts'
import type { ModelReply, RecordedRequest } from './servers/model-script.ts'
import { startOpenAiServer } from './servers/openai-server.ts'
import type { ModelServer } from './servers/sse.ts'
import { tempHome } from './temp-home.ts'
import { waitLimitMs } from './wait-limit.ts'

export interface TestGatewayOptions {
  /** Merged over the default configuration, which connects gateway, platform and model. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Complete text of config.yaml, instead of the default configuration. */
  readonly configText?: string
  /** The response of the model. Default: repeats the last message. */
  readonly model?: (request: RecordedRequest) => ModelReply
  /** Responses to the first requests. */
  readonly replies?: readonly ModelReply[]
  /** Optional capabilities of the platform. Default: none, so that each reply is one message, sent when it is complete. */
  readonly capabilities?: readonly (
    | 'edit'
    | 'resolve'
    | 'buttons'
    | 'receive'
    | 'remove'
    | 'typing'
    | 'chats'
    | 'files'
    | 'albums'
  )[]
  /** Additional options of the gateway. */
  readonly gateway?: Partial<GatewayOptions>
  /** Prepares the home directory before the first start. */
  readonly prepare?: (home: HomeLayout) => void
  /** False: the test calls `start`. */
  readonly startNow?: boolean
}

/** An emitted gateway event. */
export interface RecordedEvent {
  readonly name: string
  readonly context: Readonly<Record<string, unknown>>
}

export interface TestGateway {
  readonly home: HomeLayout
  readonly platform: FakePlatform
  readonly model: ModelServer
  /** All emitted gateway events, over all starts. */
  readonly events: readonly RecordedEvent[]
  /** All log lines, over all starts. */
  readonly log: readonly string[]
  /** The running gateway. Throws while it is stopped. */
  current(): Gateway
  /** A user sends a message. Resolves when the gateway has acknowledged it. */
  say(text: string, options?: UserMessage): Promise<void>
  /** The texts of the bot's messages in a chat, oldest first. */
  replies(chat?: string): string[]
  /** Resolves with the first message of the bot that matches. Rejects when that takes too long (`wait-limit.ts`). */
  until(matches: (message: ShownMessage) => boolean): Promise<ShownMessage>
  /** Resolves with the first complete message of the bot that contains this text. Rejects when that takes too long (`wait-limit.ts`). */
  waitForReply(text: string | RegExp, chat?: string): Promise<ShownMessage>
  /** Resolves with this request (0 is the first) of the model. Rejects when that takes too long (`wait-limit.ts`). */
  modelRequest(number: number): Promise<RecordedRequest>
  /** Resolves with the first gateway event of this name with these values. Rejects when that takes too long (`wait-limit.ts`). */
  waitForEvent(name: string, values?: Readonly<Record<string, unknown>>): Promise<RecordedEvent>
  /** Resolves with the first log line that matches, including past lines. Rejects when that takes too long (`wait-limit.ts`). */
  waitForLog(matcher: LogMatcher): Promise<string>
  /** Resolves with the log line of this number (from 1) that matches. Rejects when that takes too long (`wait-limit.ts`). */
  waitForLogLine(number: number, matcher: LogMatcher): Promise<string>
  /** Resolves with the next log line. Rejects when that takes too long (`wait-limit.ts`). */
  nextLine(): Promise<string>
  /** Sends a request with the token to the HTTP server of the gateway. */
  http(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** Writes config.yaml: the default configuration with `changes` merged over it. */
  configure(changes: Readonly<Record<string, unknown>>): void
  /** Starts the gateway, also after a stop. Rejects like `startGateway`. */
  start(options?: Partial<GatewayOptions>): Promise<Gateway>
  stop(force?: AbortSignal): Promise<void>
}

/** Everything is closed when the test ends. */
export async function startTestGateway(t: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  let gateway: Gateway | undefined
  const closers: (() => Promise<void>)[] = []
  // Registered before the home is created: hooks run in this order, and a home in use must not be removed.
  t.after(async () => {
    await gateway?.stop(AbortSignal.abort())
    for (const close of closers) await close()
  })
  const home = createHomeLayout(tempHome(t))
  const platform = await startFakePlatform()
  closers.push(platform.close)
  const model = await startOpenAiServer({
    defaultReply: options.model,
    replies: options.replies,
  })
  closers.push(model.stop)
  const events: RecordedEvent[] = []
  const log: string[] = []
  const watchers = new Set<() => void>()
  const notifyWatchers = () => {
    for (const check of watchers) check()
  }

  const base = {
    model: 'test-model',
    provider: 'openai',
    base_url: model.baseUrl,
    api_key: 'test-key',
    http: { port: 0 },
    agent: { drain_timeout: 5 },
    // test/stories/conversations-have-titles is about titles.
    auxiliary: { title_generation: { enabled: false } },
    // Most tests are about something else: test/stories/a-message-arrives-during-a-turn is about messages during turns,
    // test/agent/sandbox is about the sandbox.
    // The messages about tools are tested on their own; elsewhere they would depend on how long a tool takes.
    display: { busy_input_mode: 'queue', busy_ack_enabled: false, tool_progress: 'off' },
    terminal: { cwd: home.root, sandbox: 'off' },
    // The users are guests, because they are let in by `*`.
    roles: { guest: { tools: ['*', 'terminal', 'file'], group_tools: ['*', 'terminal', 'file'] } },
    platforms: {
      fake: {
        url: platform.url,
        token: platform.token,
        allow_from: ['*'],
        abilities: options.capabilities ?? [],
        enabled: true,
      },
    },
  }
  const configure = (changes: Readonly<Record<string, unknown>>) =>
    writeFileSync(home.configFile, JSON.stringify(merged(base, changes)), { mode: 0o600 })

  mkdirSync(home.root, { recursive: true, mode: 0o700 })
  installFakePlatform(home.root)
  if (options.configText === undefined) configure(options.config ?? {})
  else writeFileSync(home.configFile, options.configText, { mode: 0o600 })
  options.prepare?.(home)
  if (!existsSync(home.databaseFile)) writeMigratedDatabase(home.databaseFile)

  const listener: HookEventListener = (name, context) => {
    events.push({ name, context: { ...context } })
    notifyWatchers()
  }

  /** Calls `find` now and after each event or log line, until it returns a value. */
  function waitUntil<T>(what: string, find: () => T | undefined): Promise<T> {
    return withTimeLimit(what, () => {
      const { promise, resolve } = Promise.withResolvers<T>()
      const watcher = () => {
        const found = find()
        if (found === undefined) return
        watchers.delete(watcher)
        resolve(found)
      }
      watchers.add(watcher)
      watcher()
      return promise
    })
  }

  async function withTimeLimit<T>(what: string, begin: () => Promise<T>): Promise<T> {
    const result = await withTimeout(begin(), waitLimitMs())
    if (result.done) return result.value
    const shown = platform.shown().map(({ chat, text }) => `${chat}: ${text}`)
    throw new Error(`timed out waiting for ${what}; shown: ${JSON.stringify(shown)}; log:\n${log.slice(-20).join('')}`)
  }

  const current = () => {
    if (gateway === undefined) throw new Error('the gateway is not running')
    return gateway
  }
  const until = (matches: (message: ShownMessage) => boolean) =>
    withTimeLimit('a message', () => platform.until(matches))

  const self: TestGateway = {
    home,
    platform,
    model,
    events,
    log,
    current,
    say: (text, options) => withTimeLimit(`the acknowledgement of "${text}"`, () => platform.say(text, options)),
    replies: (chat) => platform.shown(chat).map(({ text }) => text),
    until,
    waitForReply: (text, chat) =>
      withTimeLimit(`"${text}"`, () =>
        platform.until(
          (message) =>
            (chat === undefined || message.chat === chat) && includesText(message.text, text) && !isDraft(message.text),
        ),
      ),
    modelRequest: (number) => withTimeLimit(`request ${number} of the model`, () => model.request(number)),
    waitForEvent: (name, values = {}) =>
      waitUntil(`the event ${name}`, () => events.find((one) => one.name === name && matchesValues(one, values))),
    waitForLog: (matcher) => self.waitForLogLine(1, matcher),
    waitForLogLine: (number, matcher) =>
      waitUntil(`log line ${number} with ${describeMatcher(matcher)}`, () =>
        log.filter((line) => matchesLogLine(line, matcher)).at(number - 1),
      ),
    nextLine: () => {
      const count = log.length
      return waitUntil('a log line', () => log[count])
    },
    http: (path, init = {}) => {
      const headers = { authorization: `Bearer ${current().token()}`, ...Object.fromEntries(new Headers(init.headers)) }
      return fetch(`${current().url}${path}`, { ...init, headers })
    },
    post: (path, body, headers = {}) =>
      self.http(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    configure,
    async start(startOptions = {}) {
      gateway = await startGateway({
        home,
        version: '0.0.0-test',
        environment: { PATH: process.env['PATH'], HOME: home.root },
        platformDirectories: [new URL('../../platforms', import.meta.url).pathname, home.platforms],
        commandLine: [process.execPath, new URL('../../src/main.mjs', import.meta.url).pathname],
        log: {
          pretty: false,
          level: 'debug',
          stream: {
            write(line) {
              log.push(line)
              notifyWatchers()
            },
          },
        },
        listeners: [listener],
        ...options.gateway,
        ...startOptions,
      })
      return gateway
    },
    async stop(force) {
      await gateway?.stop(force)
      gateway = undefined
    },
  }
  if (options.startNow === false) return self
  const started = await self.start()
  await started.initialConnectsDone()
  await started.pluginsLoaded()
  return self
}

function includesText(text: string, expected: string | RegExp): boolean {
  return typeof expected === 'string' ? text.includes(expected) : expected.test(text)
}

/** Whether the cursor of an incomplete reply is shown. */
const isDraft = (text: string) => text.endsWith('▉')

function matchesValues({ context }: RecordedEvent, values: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(values).every(([key, value]) => context[key] === value)
}

type Tree = Readonly<Record<string, unknown>>

/** Merges objects recursively and replaces other values. `undefined` removes a key. */
function merged(base: Tree, changes: Tree): Tree {
  const result: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(changes)) {
    const current = result[key]
    if (value === undefined) delete result[key]
    else result[key] = isTree(current) && isTree(value) ? merged(current, value) : value
  }
  return result
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
