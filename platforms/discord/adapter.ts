/**
 * The Discord adapter: puts the parts of `connection/`, `inbound/` and `outbound/` together, and configures the REST client
 * of discord.js.
 */
import { REST, type RESTOptions } from 'discord.js'
import { type Attachment, definePlatform, HermesError, type PlatformAdapter, type PlatformContext } from '#sdk'
import { createApi, retryAfterRateLimit } from './connection/api.ts'
import { registerCommands } from './connection/commands.ts'
import { createGateway, type GatewayTiming, gatewayTiming } from './connection/gateway.ts'
import { diagnose } from './diagnose.ts'
import { describeError } from './errors.ts'
import { createGuildCache } from './inbound/guild-cache.ts'
import { createIngest } from './inbound/ingest.ts'
import { createInteractionResponder } from './inbound/interaction-responder.ts'
import { asRecord, idsAt } from './inbound/payload.ts'
import { type DiscordOptions, parseOptions } from './options.ts'
import { renderedLength } from './outbound/markup.ts'
import { maxChars } from './outbound/render.ts'
import { createSender } from './outbound/sender.ts'
import { createStatusReactions } from './outbound/status-reactions.ts'
import { createThreadOpener } from './outbound/threads.ts'

/** Discord allows five edits in five seconds per channel. */
const draftIntervalMs = 1_100

export interface AdapterTiming extends GatewayTiming {
  /** An interaction is deferred when its response takes longer. */
  readonly deferAfterMs: number
}

/** @param timing overrides the timing for tests */
export function createAdapter(context: PlatformContext, timing: Partial<AdapterTiming> = {}): PlatformAdapter {
  const { log } = context
  const options = parseOptions(context.options)
  const closing = new AbortController()
  const rest = new REST(restOptions(options)).setToken(options.token)
  const api = createApi(rest)
  const guildCache = createGuildCache()
  const botId = () => guildCache.botUser()?.id
  const threads = createThreadOpener({
    api,
    onOpened: (channel) => void guildCache.updateChannel(asRecord(channel)),
    onRefused: (error) =>
      log.warn(
        { event: 'discord.thread_refused', reason: describeError(error) },
        'no thread could be opened; the reply goes to the channel',
      ),
  })
  let menu = Promise.resolve()
  const sender = createSender({ api, threads, options, botId })
  const ingest = createIngest({
    context,
    api,
    guildCache,
    threads,
    options,
    respondToInteraction: createInteractionResponder({
      api,
      log,
      accept: context.accept,
      press: context.questions.press,
      applicationId: () => guildCache.botUser()?.applicationId,
      signal: closing.signal,
      deferAfterMs: timing.deferAfterMs,
    }),
    send: sender.send,
    onOwnMessage: sender.recordEcho,
    random: Math.random,
    signal: closing.signal,
  })
  const gateway = createGateway({
    token: options.token,
    timing: { ...gatewayTiming, ...timing },
    random: Math.random,
    rest: restOptions(options),
    log,
    onReady: ingest.onReady,
    onDispatch: ingest.onDispatch,
    onActivity: context.connection.received,
    onHealth: context.connection.health,
    onRefused: context.connection.refused,
  })
  const react = createStatusReactions({ api, rateLimited: context.rateLimited, signal: closing.signal, log })

  return {
    limits: { maxChars, unit: 'utf16', fits: (markdown) => renderedLength(markdown) <= maxChars },
    draftIntervalMs,
    sendsAttachments: true,
    showsButtons: true,
    async connect(signal) {
      await gateway.open(signal)
      updateMenu()
    },
    async disconnect() {
      closing.abort()
      await gateway.close()
      rest.clearHashSweeper()
      rest.clearHandlerSweeper()
    },
    send: sender.send,
    albums: sender.albums,
    edit: (messageId, message, _final, signal) => sender.edit(messageId, message, signal),
    remove: sender.remove,
    typing: sender.typing,
    resolveUnknown: sender.resolveUnknown,
    locate: (attachment, signal) => locate(attachment, signal),
    async heldRoles({ scopeId, userId }, names, signal) {
      if (scopeId === undefined || userId === undefined) return []
      const roles = idsAt(asRecord(await api.member(scopeId, userId, signal)), 'roles')
      return names.filter((name) => roles.some((role) => name === `role:${role}`))
    },
    findChats: async () => guildCache.writableChannels(),
    commandsChanged: updateMenu,
    ...(options.reactions ? { activity: react } : {}),
  }

  /** One update at a time, so that the newest list wins. */
  function updateMenu(): void {
    menu = menu.then(registerSlashCommands)
  }

  /** Never rejects: commands that are not registered can still be typed. */
  async function registerSlashCommands(): Promise<void> {
    const application = guildCache.botUser()?.applicationId
    if (application === undefined || closing.signal.aborted) return
    try {
      await context.menu.complete()
      const isChanged = await retryAfterRateLimit(closing.signal, () =>
        registerCommands(api, application, context.menu.commands(), closing.signal),
      )
      if (isChanged) log.info({ event: 'discord.commands_registered' }, 'slash commands were registered')
    } catch (error) {
      if (!closing.signal.aborted)
        log.warn(
          { event: 'discord.commands_failed', reason: describeError(error) },
          'slash commands could not be registered',
        )
    }
  }

  /** Returns the URL of a file. Discord's URLs expire after a day, so an expired one is refreshed. */
  async function locate({ ref, url }: Attachment, signal: AbortSignal) {
    const known = ref ?? url
    if (known === undefined) throw new HermesError('http/not-found', 'The file has no URL.')
    const address = isUrlFresh(known, context.clock()) ? known : ((await api.freshUrl(known, signal)) ?? known)
    return { url: address, ...(options.usesOwnApi ? { trusted: new URL(options.apiUrl).origin } : {}) }
  }
}

const urlMarginMs = 60_000

/** Whether the URL of a file can still be used. Discord's URLs contain the time at which they expire. Never throws. */
function isUrlFresh(url: string, now: number): boolean {
  const expiry = URL.canParse(url) ? new URL(url).searchParams.get('ex') : null
  const seconds = expiry === null ? Number.NaN : Number.parseInt(expiry, 16)
  return Number.isNaN(seconds) || seconds * 1_000 > now + urlMarginMs
}

/** Without retries and without waiting for rate limits: only the outbox repeats a call. */
function restOptions({ apiUrl }: DiscordOptions): Partial<RESTOptions> {
  return {
    api: apiUrl,
    version: '10',
    retries: 0,
    offset: 0,
    timeout: 30_000,
    rejectOnRateLimit: () => true,
    makeRequest: async (url, { method, headers, body, signal }) =>
      withExactRetryAfter(
        await fetch(url, {
          ...(method === undefined ? {} : { method }),
          ...(signal == null ? {} : { signal }),
          headers: new Headers(Object.entries(asRecord(headers)).map(([name, value]) => [name, String(value)])),
          ...(typeof body === 'string' || body instanceof FormData ? { body } : {}),
        }),
      ),
  }
}

/** The header rounds the wait up to whole seconds; the body has the exact value. */
async function withExactRetryAfter(response: Response): Promise<Response> {
  if (response.status !== 429) return response
  const text = await response.text()
  const headers = new Headers(response.headers)
  try {
    const wait = asRecord(JSON.parse(text))['retry_after']
    if (typeof wait === 'number' && wait > 0) headers.set('retry-after', String(wait))
  } catch (error) {
    // A rate limit of the proxy in front of Discord has no JSON body, only the header.
    if (!(error instanceof SyntaxError)) throw error
  }
  return new Response(text, { status: response.status, statusText: response.statusText, headers })
}

export default definePlatform({
  createAdapter: (context) => createAdapter(context),
  async diagnose({ options: values }, signal) {
    const options = parseOptions(values)
    const rest = new REST(restOptions(options)).setToken(options.token)
    try {
      return await diagnose(createApi(rest), signal)
    } finally {
      rest.clearHashSweeper()
      rest.clearHandlerSweeper()
    }
  },
})
