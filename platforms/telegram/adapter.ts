/**
 * The Telegram adapter: composes one account of the platform. Only this file opens network connections; the other files
 * receive the functions that they call.
 */
import { Agent } from 'node:https'
import { performance } from 'node:perf_hooks'
import { Telegram } from 'telegraf'
import {
  type Attachment,
  type DiagnosticContext,
  definePlatform,
  type FoundChat,
  isRecord,
  messageOf,
  type PlatformAdapter,
  type PlatformContext,
  sleep,
} from '#sdk'
import { allowedUpdates, type BotApi, createBotApi, type TelegrafClient } from './connection/api.ts'
import { setBotCommands } from './connection/commands.ts'
import { fetchIdentity } from './connection/identity.ts'
import { createPolling, type Polling } from './connection/polling.ts'
import { watchWebhook } from './connection/watchdog.ts'
import { createWebhookRoute, deleteOwnWebhook, fetchWebhookInfo, setWebhook } from './connection/webhook.ts'
import { diagnose } from './diagnose.ts'
import { ApiError, createTokenRedactor, toConnectError } from './errors.ts'
import { resolveAttachmentUrl } from './inbound/attachment-url.ts'
import { createIngest, type Ingest } from './inbound/ingest.ts'
import { asId, asRecord, asText } from './inbound/payload.ts'
import { parseOptions, type TelegramOptions } from './options.ts'
import { fitsEntities, maxTextChars } from './outbound/render.ts'
import { createSender } from './outbound/sender.ts'

/** Upload limits of Telegram and of a self-hosted Bot API server. */
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
    now,
  })
  let poll: Polling | undefined
  /** Background work that `disconnect` awaits. */
  const tasks: Promise<void>[] = []
  let menu = Promise.resolve()

  return {
    limits: { maxChars: maxTextChars, unit: 'utf16', fits: fitsEntities },
    // Telegram allows about one call per second in each chat, and edits count.
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
      const ingest = createIngestFor(username)
      if (options.webhook === undefined) await startPolling(ingest, until)
      else await startWebhook(options.webhook, ingest, until)
      updateMenu()
    },
    async disconnect() {
      stopping.abort()
      await poll?.stop()
      await Promise.all([...tasks, menu])
    },
    commandsChanged: updateMenu,
    locate: (attachment, signal) => locate(attachment, signal),
    async heldRoles({ chatId, chatType, userId }, names, signal) {
      const role = `administrators:${chatId}`
      if (chatType === 'dm' || !names.includes(role)) return []
      const member = await api.call('getChatMember', { chat_id: chatId, user_id: Number(userId) }, signal)
      const status = isRecord(member) ? member['status'] : undefined
      return status === 'creator' || status === 'administrator' ? [role] : []
    },
    findChats,
  }

  /** Telegram finds public chats by their `@name` only. */
  async function findChats(name: string, signal: AbortSignal): Promise<readonly FoundChat[]> {
    if (!name.startsWith('@')) return []
    try {
      const { id, username } = asRecord(await api.call('getChat', { chat_id: name }, signal))
      const chatId = asId(id)
      return chatId === undefined ? [] : [{ chatId, name: asText(username) ?? name.slice(1) }]
    } catch (error) {
      if (error instanceof ApiError && error.matches(/chat not found/i)) return []
      throw error
    }
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
      getUpdates: ({ offset, timeout }, signal) =>
        api.call('getUpdates', { offset, timeout, limit: 100, allowed_updates: allowedUpdates }, signal),
      ingest,
      ...context.connection,
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
    context.route(createWebhookRoute({ path, secret, ingest, received: context.connection.received }))
    await setWebhook(api, webhook, until).catch(throwConnectError)
    const fetchInfo = (signal: AbortSignal) => fetchWebhookInfo(api, signal)
    const { connection, clock } = context
    tasks.push(watchWebhook({ url, fetchInfo, sleep, clock, ...connection }, stopping.signal))
  }

  function removeWebhook(until: AbortSignal): Promise<void> {
    return deleteOwnWebhook(api, options.webhookPath, until).catch(throwConnectError)
  }

  /** One update at a time, so that the newest list wins. */
  function updateMenu(): void {
    menu = menu.then(registerCommands)
  }

  /** Runs in the background, because a bot works without a command menu. Never rejects. */
  async function registerCommands(): Promise<void> {
    if (stopping.signal.aborted) return
    try {
      await context.menu.complete()
      const changed = await setBotCommands(api, context.menu.commands(), stopping.signal)
      if (changed) context.log.info({ event: 'telegram.commands_updated' }, 'command menu updated')
    } catch (error) {
      if (stopping.signal.aborted) return
      context.log.warn(
        { event: 'telegram.commands_failed', err: error },
        `command menu cannot be updated: ${messageOf(error)}`,
      )
    }
  }

  async function locate({ ref }: Attachment, signal: AbortSignal) {
    if (ref === undefined) throw new Error('The attachment has no file_id of Telegram.')
    const trusted = options.ownApiRoot ? { trusted: new URL(options.apiRoot).origin } : {}
    return await resolveAttachmentUrl({ api, ...trusted }, ref, signal)
  }
}

function throwConnectError(error: unknown): never {
  throw toConnectError(error)
}

function createApi({ token, apiRoot }: TelegramOptions): BotApi {
  // A request over an idle connection that the server has closed would fail, so idle connections are closed first.
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
