/**
 * Discord, spoken through discord.js: a shard for what comes in, its REST client for what goes out. The only file that
 * opens the network.
 */
import { REST } from '@discordjs/rest'
import { Encoding, WebSocketShard, WebSocketShardEvents } from '@discordjs/ws'
import {
  type Attachment,
  definePlatform,
  HermesError,
  messageOf,
  type PlatformAdapter,
  type PlatformContext,
} from '#sdk'
import { createAnswering } from './answering.ts'
import { createApi } from './api.ts'
import { registerCommands } from './commands.ts'
import { look } from './diagnose.ts'
import { createDirectory } from './directory.ts'
import { connectError, explain } from './errors.ts'
import { isFresh } from './file-address.ts'
import { createGateway, type GatewayTiming, gatewayTiming } from './gateway.ts'
import { createIncoming } from './incoming.ts'
import { intents } from './intents.ts'
import { type Options, readOptions } from './options.ts'
import { patiently } from './patience.ts'
import { createReactions } from './reactions.ts'
import { maxChars } from './render.ts'
import { createSending } from './sending.ts'
import type { Shard, ShardListener, ShardStrategy } from './shard.ts'
import { createThreads } from './threads.ts'
import { asObject } from './wire.ts'

/** Five edits in five seconds is what Discord takes in a channel. */
const draftIntervalMs = 1_100

export interface AdapterTiming extends GatewayTiming {
  /** After so long an interaction is announced before it is answered. */
  readonly promptMs: number
}

/** @param timing other pauses than those that suit Discord, for tests */
export function createAdapter(context: PlatformContext, timing: Partial<AdapterTiming> = {}): PlatformAdapter {
  const { log } = context
  const options = readOptions(context.options)
  const closing = new AbortController()
  const rest = createRest(options)
  const api = createApi(rest)
  const directory = createDirectory()
  const me = () => directory.me()?.id
  const threads = createThreads({
    api,
    onOpened: (channel) => void directory.learnChannel(asObject(channel)),
    onRefused: (error) =>
      log.warn({ reason: explain(error) }, 'no thread could be opened; the answer goes to the channel'),
  })
  const sending = createSending({ api, threads, options, me })
  const incoming = createIncoming({
    context,
    api,
    directory,
    threads,
    options,
    answer: createAnswering({
      api,
      log,
      accept: context.accept,
      press: context.press,
      applicationId: () => directory.me()?.applicationId,
      signal: closing.signal,
      ...(timing.promptMs === undefined ? {} : { promptMs: timing.promptMs }),
    }),
    send: sending.send,
    onEcho: sending.echoed,
    random: Math.random,
    signal: closing.signal,
  })
  const gateway = createGateway({
    token: options.token,
    intents,
    timing: { ...gatewayTiming, ...timing },
    random: Math.random,
    log,
    information: async (signal) => {
      try {
        return await api.gatewayBot(signal)
      } catch (error) {
        throw connectError(error)
      }
    },
    createShard,
    onReady: incoming.onReady,
    onDispatch: incoming.onEvent,
    onSign: context.received,
    onHealth: context.health,
    onRefused: context.refused,
  })
  const react = createReactions({ api, paced: context.paced, signal: closing.signal, log })

  return {
    limits: { maxChars, unit: 'utf16' },
    draftIntervalMs,
    sendsAttachments: true,
    showsButtons: true,
    async connect(signal) {
      await gateway.open(signal)
      void offerCommands()
    },
    async disconnect() {
      closing.abort()
      await gateway.close()
      rest.clearHashSweeper()
      rest.clearHandlerSweeper()
    },
    send: sending.send,
    edit: (messageId, message, _final, signal) => sending.edit(messageId, message, signal),
    remove: sending.remove,
    typing: sending.typing,
    resolveUnknown: sending.resolveUnknown,
    locate: (attachment, signal) => locate(attachment, signal),
    ...(options.reactions ? { activity: react } : {}),
  }

  /** Never rejects: whoever cannot choose a command from a list can still type it. */
  async function offerCommands(): Promise<void> {
    const application = directory.me()?.applicationId
    if (application === undefined) return
    try {
      const isNew = await patiently(closing.signal, () =>
        registerCommands(api, application, context.commands(), closing.signal),
      )
      if (isNew) log.info({}, 'the slash commands were registered with Discord')
    } catch (error) {
      if (!closing.signal.aborted) log.warn({ reason: explain(error) }, 'the slash commands could not be registered')
    }
  }

  /** The address of a file is valid for a day; an older one is renewed. */
  async function locate({ ref, url }: Attachment, signal: AbortSignal) {
    const known = ref ?? url
    if (known === undefined) throw new HermesError('http/not-found', 'The file has no address.')
    const address = isFresh(known, context.clock()) ? known : ((await api.freshUrl(known, signal)) ?? known)
    return { url: address, ...(options.ownApi ? { trusted: new URL(options.apiUrl).origin } : {}) }
  }
}

/** Nothing is repeated, and nothing waits, behind the back of the outbox. */
function createRest({ apiUrl, token }: Options): REST {
  return new REST({
    api: apiUrl,
    version: '10',
    retries: 0,
    offset: 0,
    timeout: 30_000,
    rejectOnRateLimit: () => true,
    makeRequest: async (url, { method, headers, body, signal }) =>
      withPreciseWait(
        await fetch(url, {
          ...(method === undefined ? {} : { method }),
          ...(signal == null ? {} : { signal }),
          headers: new Headers(Object.entries(asObject(headers)).map(([name, value]) => [name, String(value)])),
          ...(typeof body === 'string' || body instanceof FormData ? { body } : {}),
        }),
      ),
  }).setToken(token)
}

/** The header rounds the wait up to whole seconds; the body has it exactly. */
async function withPreciseWait(response: Response): Promise<Response> {
  if (response.status !== 429) return response
  const text = await response.text()
  const headers = new Headers(response.headers)
  try {
    const wait = asObject(JSON.parse(text))['retry_after']
    if (typeof wait === 'number' && wait > 0) headers.set('retry-after', String(wait))
  } catch (error) {
    // A limit of the network in front of Discord answers no JSON; its header is all there is.
    if (!(error instanceof SyntaxError)) throw error
  }
  return new Response(text, { status: response.status, statusText: response.statusText, headers })
}

function createShard(strategy: ShardStrategy, listener: ShardListener): Shard {
  const shard = new WebSocketShard({ ...strategy, options: { ...strategy.options, encoding: Encoding.JSON } }, 0)
  shard.on(WebSocketShardEvents.Hello, listener.onHello)
  shard.on(WebSocketShardEvents.HeartbeatComplete, listener.onBeat)
  shard.on(WebSocketShardEvents.Ready, ({ data }) => listener.onReady(data))
  shard.on(WebSocketShardEvents.Resumed, listener.onResumed)
  shard.on(WebSocketShardEvents.Dispatch, ({ data }) => listener.onDispatch(data))
  shard.on(WebSocketShardEvents.Closed, ({ code }) => listener.onClosed(code))
  shard.on(WebSocketShardEvents.Error, ({ error }) => listener.onError(error))
  return {
    connect() {
      // Its promise is about the first try only; what becomes of all tries is told to the listener.
      shard.connect().catch((error) => listener.onError(error instanceof Error ? error : new Error(messageOf(error))))
    },
    beat(sequence) {
      shard.send({ op: 1, d: sequence }).catch((error) => listener.onError(new Error(messageOf(error))))
    },
    destroy: (code) => shard.destroy({ code }),
  }
}

export default definePlatform({
  createAdapter: (context) => createAdapter(context),
  async diagnose({ options: given }, signal) {
    const options = readOptions(given)
    const rest = createRest(options)
    try {
      return await look(createApi(rest), signal)
    } finally {
      rest.clearHashSweeper()
      rest.clearHandlerSweeper()
    }
  },
})
