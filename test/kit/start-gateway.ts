/**
 * A whole gateway in this process, in a home of its own, between a made-up chat product and a local model server.
 * Stories are told with it: somebody writes, the gateway answers, it stops and starts again on the same home.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
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
import type { ModelReply, RecordedRequest } from './servers/model-script.ts'
import { startOpenAiServer } from './servers/openai-server.ts'
import type { ModelServer } from './servers/sse.ts'
import { tempHome } from './temp-home.ts'

export interface TestGatewayOptions {
  /** Laid over the configuration that joins gateway, platform and model; objects are merged. */
  readonly config?: Readonly<Record<string, unknown>>
  /** The whole text of config.yaml instead; the model and the platform are then the test's own business. */
  readonly configText?: string
  /** What the model answers; left out, it says what it heard. */
  readonly model?: (request: RecordedRequest) => ModelReply
  /** The model answers these first. */
  readonly replies?: readonly ModelReply[]
  /** What the platform can do beside sending. Nothing, if left out: each reply is one message, sent when it is done. */
  readonly capabilities?: readonly ('edit' | 'resolve' | 'buttons' | 'receive' | 'remove' | 'typing' | 'files')[]
  /** Further options of the gateway itself. */
  readonly gateway?: Partial<GatewayOptions>
  /** Called with the home before the first start. */
  readonly prepare?: (home: HomeLayout) => void
  /** False: the test starts it with `start`. */
  readonly startNow?: boolean
}

/** An event of the gateway as it was emitted. */
export interface RecordedEvent {
  readonly name: string
  readonly context: Readonly<Record<string, unknown>>
}

export interface TestGateway {
  readonly home: HomeLayout
  readonly platform: FakePlatform
  readonly model: ModelServer
  /** Everything it emitted, over all its lives. */
  readonly events: readonly RecordedEvent[]
  /** The lines of its log, over all its lives. */
  readonly log: readonly string[]
  /** The gateway of this life. */
  current(): Gateway
  /** A person writes. Resolves when the platform was told "got it". */
  say(text: string, writing?: UserMessage): Promise<void>
  /** The texts that a chat shows, oldest first. */
  replies(chat?: string): string[]
  /** Resolves with the message that fits, once there is one. Rejects after ten seconds, with what was there. */
  until(fits: (message: ShownMessage) => boolean): Promise<ShownMessage>
  /** The first message of the gateway that holds this text. */
  waitForReply(text: string | RegExp, chat?: string): Promise<ShownMessage>
  /** The request of this number (0 is the first) that the model got. Rejects after ten seconds without one. */
  modelRequest(number: number): Promise<RecordedRequest>
  /** Resolves when an event of this name (and with these values) has been emitted. Rejects after ten seconds. */
  waitForEvent(name: string, values?: Readonly<Record<string, unknown>>): Promise<RecordedEvent>
  /** Resolves when a line of the log holds this text, the lines before included. Rejects after ten seconds. */
  waitForLog(text: string | RegExp): Promise<string>
  /** Resolves with the next line of the log. Rejects after ten seconds. */
  nextLine(): Promise<string>
  /** Asks its HTTP server, with the token. */
  http(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** Writes config.yaml anew, as at the start with `changes` laid over. */
  configure(changes: Readonly<Record<string, unknown>>): void
  /** Starts it, again after a stop. Rejects as `startGateway`. */
  start(options?: Partial<GatewayOptions>): Promise<Gateway>
  stop(hurry?: AbortSignal): Promise<void>
}

/** How long a story waits for what must happen. */
const waitTimeoutMs = 10_000

/** Everything is taken down when the test ends. */
export async function startTestGateway(t: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  let gateway: Gateway | undefined
  const takeDown: (() => Promise<void>)[] = []
  // Before the home is made: these run in this order, and a home that is in use must not be removed.
  t.after(async () => {
    await gateway?.stop(AbortSignal.abort())
    for (const close of takeDown) await close()
  })
  const home = createHomeLayout(tempHome(t))
  const platform = await startFakePlatform()
  takeDown.push(platform.close)
  const model = await startOpenAiServer({
    ...(options.model === undefined ? {} : { defaultReply: options.model }),
    ...(options.replies === undefined ? {} : { replies: options.replies }),
  })
  takeDown.push(model.stop)
  const events: RecordedEvent[] = []
  const log: string[] = []
  const watchers = new Set<() => void>()
  const tell = () => {
    for (const look of watchers) look()
  }

  const base = {
    model: 'test-model',
    provider: 'openai',
    base_url: model.baseUrl,
    api_key: 'test-key',
    http: { port: 0 },
    agent: { drain_timeout: 5 },
    terminal: { cwd: home.root },
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

  const listener: HookEventListener = (name, context) => {
    events.push({ name, context: { ...context } })
    tell()
  }

  /** Looks now and at each event or line of the log. */
  function seen<T>(what: string, look: () => T | undefined): Promise<T> {
    return inTime(what, () => {
      const { promise, resolve } = Promise.withResolvers<T>()
      const watcher = () => {
        const found = look()
        if (found === undefined) return
        watchers.delete(watcher)
        resolve(found)
      }
      watchers.add(watcher)
      watcher()
      return promise
    })
  }

  async function inTime<T>(what: string, begin: () => Promise<T>): Promise<T> {
    const result = await withTimeout(begin(), waitTimeoutMs)
    if (result.done) return result.value
    const shown = platform.shown().map(({ chat, text }) => `${chat}: ${text}`)
    throw new Error(`waited in vain for ${what}; shown: ${JSON.stringify(shown)}; log:\n${log.slice(-20).join('')}`)
  }

  const current = () => {
    if (gateway === undefined) throw new Error('the gateway does not run')
    return gateway
  }
  const until = (fits: (message: ShownMessage) => boolean) => inTime('a message', () => platform.until(fits))

  const self: TestGateway = {
    home,
    platform,
    model,
    events,
    log,
    current,
    say: (text, writing) => inTime(`the message "${text}" to be accepted`, () => platform.say(text, writing)),
    replies: (chat) => platform.shown(chat).map(({ text }) => text),
    until,
    waitForReply: (text, chat) =>
      inTime(`"${text}"`, () =>
        platform.until((message) => (chat === undefined || message.chat === chat) && includesText(message.text, text)),
      ),
    modelRequest: (number) => inTime(`request ${number} of the model`, () => model.request(number)),
    waitForEvent: (name, values = {}) =>
      seen(`the event ${name}`, () => events.find((one) => one.name === name && matchesValues(one, values))),
    waitForLog: (text) => seen(`the line "${text}"`, () => log.find((line) => includesText(line, text))),
    nextLine: () => {
      const known = log.length
      return seen('a line of the log', () => log[known])
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
    async start(own = {}) {
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
              tell()
            },
          },
        },
        listeners: [listener],
        ...options.gateway,
        ...own,
      })
      return gateway
    },
    async stop(hurry) {
      await gateway?.stop(hurry)
      gateway = undefined
    },
  }
  if (options.startNow === false) return self
  const started = await self.start()
  await started.initialConnectsDone()
  return self
}

function includesText(text: string, sought: string | RegExp): boolean {
  return typeof sought === 'string' ? text.includes(sought) : sought.test(text)
}

function matchesValues({ context }: RecordedEvent, values: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(values).every(([key, value]) => context[key] === value)
}

type Tree = Readonly<Record<string, unknown>>

/** Objects are merged key by key, everything else is replaced; undefined takes a key away. */
function merged(base: Tree, changes: Tree): Tree {
  const result: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(changes)) {
    const known = result[key]
    if (value === undefined) delete result[key]
    else result[key] = isTree(known) && isTree(value) ? merged(known, value) : value
  }
  return result
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
