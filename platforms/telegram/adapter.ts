/**
 * Telegram: the account of one bot, from the options to what the gateway sees of it. The only file here that opens the
 * network; the others get what they call.
 */
import { Agent } from 'node:https'
import { performance } from 'node:perf_hooks'
import { Telegram } from 'telegraf'
import {
  type Attachment,
  type DiagnosticContext,
  definePlatform,
  messageOf,
  type PlatformAdapter,
  type PlatformContext,
  sleep,
} from '#sdk'
import { allowedUpdates } from './connection/allowed-updates.ts'
import { type BotApi, createBotApi, type TelegrafClient } from './connection/api.ts'
import { setBotCommands } from './connection/commands.ts'
import { fetchIdentity, toConnectError } from './connection/identity.ts'
import { createPolling, type Polling } from './connection/polling.ts'
import { watchWebhook } from './connection/watchdog.ts'
import { createWebhookRoute } from './connection/webhook.ts'
import { deleteOwnWebhook, fetchWebhookInfo, setWebhook } from './connection/webhook-registration.ts'
import { diagnose } from './diagnose.ts'
import { createTokenRedactor } from './errors.ts'
import { resolveAttachmentUrl } from './inbound/attachment-url.ts'
import { createIngest, type Ingest } from './inbound/ingest.ts'
import { parseOptions, type TelegramOptions } from './options.ts'
import { createRateLimitScope } from './outbound/rate-limit-scope.ts'
import { createSender } from './outbound/sender.ts'

/** Telegram takes uploads of this size; a Bot API server of one's own takes more. */
const maxUploadBytes = 50_000_000
const ownServerMaxUploadBytes = 2_000_000_000

export function createAdapter(context: PlatformContext): PlatformAdapter {
  const options = parseOptions(context.options, context.account)
  const api = createApi(options)
  const stopping = new AbortController()
  const now = () => performance.now()
  const sender = createSender({
    api,
    maxUploadBytes: options.ownApiRoot ? ownServerMaxUploadBytes : maxUploadBytes,
    rateLimitScope: createRateLimitScope(now),
  })
  let poll: Polling | undefined
  /** What goes on beside the messages, until the end. */
  const tasks: Promise<void>[] = []

  return {
    limits: { maxChars: 4_096, unit: 'utf16' },
    // Edits count against one call a second in each chat.
    draftIntervalMs: 1_000,
    sendsAttachments: true,
    showsButtons: true,
    ...sender,
    async connect(signal) {
      const until = AbortSignal.any([signal, stopping.signal])
      const [{ username }] = await Promise.all([
        fetchIdentity(api, until),
        options.webhook === undefined ? removeWebhook(until) : undefined,
      ])
      const handIn = createIngestFor(username)
      if (options.webhook === undefined) await startPolling(handIn, until)
      else await startWebhook(options.webhook, handIn, until)
      tasks.push(registerCommands())
    },
    async disconnect() {
      stopping.abort()
      await poll?.stop()
      await Promise.all(tasks)
    },
    locate: (attachment, signal) => locate(attachment, signal),
  }

  function createIngestFor(username: string): Ingest {
    const { platform, account } = context
    return createIngest({
      context,
      normalizeContext: { platform, account, botId: options.botId, username, groups: options.groups },
      signal: stopping.signal,
      answerCallbackQuery: (id, text, signal) =>
        api.call('answerCallbackQuery', { callback_query_id: id, text }, signal),
      sendNotice: (source, text, signal) => {
        const target = { platform, account, chatId: source.chatId }
        const thread = source.threadId === undefined ? {} : { threadId: source.threadId }
        const replyTo = source.messageId === undefined ? {} : { replyTo: source.messageId }
        const message = { deliveryId: '', target: { ...target, ...thread }, text, kind: 'notice' as const, ...replyTo }
        return sender.send(message, signal)
      },
    })
  }

  async function startPolling(ingest: Ingest, until: AbortSignal): Promise<void> {
    poll = createPolling({
      getUpdates: (question, signal) =>
        api.call('getUpdates', { ...question, limit: 100, allowed_updates: allowedUpdates }, signal),
      ingest,
      health: context.health,
      refused: context.refused,
      received: context.received,
      sleep,
      now,
      random: Math.random,
      log: context.log,
    })
    await poll.start(until).catch(throwConnectError)
  }

  async function startWebhook(
    webhook: { url: string; secret: string },
    ingest: Ingest,
    until: AbortSignal,
  ): Promise<void> {
    const { secret, url } = webhook
    const { webhookPath: path } = options
    context.route(createWebhookRoute({ path, secret, ingest, received: context.received }))
    await setWebhook(api, webhook, until).catch(throwConnectError)
    const fetchInfo = (signal: AbortSignal) => fetchWebhookInfo(api, signal)
    const { health, received, clock } = context
    tasks.push(watchWebhook({ url, fetchInfo, health, received, sleep, clock }, stopping.signal))
  }

  function removeWebhook(until: AbortSignal): Promise<void> {
    return deleteOwnWebhook(api, options.webhookPath, until).catch(throwConnectError)
  }

  /** Nobody waits for the menu, and a bot without one works. Never rejects. */
  async function registerCommands(): Promise<void> {
    try {
      const changed = await setBotCommands(api, context.commands(), stopping.signal)
      if (changed) context.log.info({}, 'the menu of commands was changed')
    } catch (error) {
      if (!stopping.signal.aborted)
        context.log.warn({ error }, `the menu of commands cannot be set: ${messageOf(error)}`)
    }
  }

  async function locate({ ref }: Attachment, signal: AbortSignal) {
    if (ref === undefined) throw new Error('The attachment has no name that Telegram knows.')
    const trusted = options.ownApiRoot ? { trusted: new URL(options.apiRoot).origin } : {}
    return await resolveAttachmentUrl({ api, ...trusted }, ref, signal)
  }
}

function throwConnectError(error: unknown): never {
  throw toConnectError(error)
}

function createApi({ token, apiRoot }: TelegramOptions): BotApi {
  // An idle connection that the other side has closed, or that has died, would lose the next message: ours are closed first.
  const agent = new Agent({ keepAlive: true, timeout: 5_000 })
  const client: TelegrafClient = new Telegram(token, { apiRoot, agent })
  return createBotApi({ client, fetch, apiRoot, token, redact: createTokenRedactor(token) })
}

export default definePlatform({
  createAdapter,
  async diagnose({ account, options }: DiagnosticContext, signal) {
    const parsed = parseOptions(options, account)
    return await diagnose(createApi(parsed), parsed, signal)
  },
})
