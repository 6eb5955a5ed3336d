/**
 * The Telegram adapter: connects one account of the platform and disconnects it.
 */
import {
  type DiagnosticContext,
  definePlatform,
  type FoundChat,
  isRecord,
  messageOf,
  type PlatformAdapter,
  type PlatformContext,
} from '#sdk'
import { createAccount, createApi } from './account.ts'
import { setBotCommands } from './connection/commands.ts'
import { fetchIdentity } from './connection/identity.ts'
import { createPolling, type Polling } from './connection/polling.ts'
import { watchWebhook } from './connection/watchdog.ts'
import { createWebhookRoute, deleteOwnWebhook, setWebhook } from './connection/webhook.ts'
import { diagnose, invite } from './diagnose.ts'
import { ApiError, toConnectError } from './errors.ts'
import { resolveAttachmentUrl } from './inbound/attachment-url.ts'
import { createIngest, type Ingest } from './inbound/ingest.ts'
import { asId, asRecord, asText } from './inbound/payload.ts'
import { parseOptions } from './options.ts'
import { fitsEntities, maxTextChars } from './outbound/render.ts'
import { createSender } from './outbound/sender.ts'

export function createAdapter(context: PlatformContext): PlatformAdapter {
  const account = createAccount(context)
  const { options, api, stopping } = account
  const sender = createSender(account)
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
      const { botId, groups } = options
      const normalizeContext = { platform: context.platform, account: context.account, botId, username, groups }
      const ingest = createIngest(account, normalizeContext, sender.send)
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
    locate: (attachment, signal) => resolveAttachmentUrl(attachment, account, signal),
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

  async function startPolling(ingest: Ingest, until: AbortSignal): Promise<void> {
    poll = createPolling(account, ingest)
    await poll.start(until).catch(throwConnectError)
  }

  async function startWebhook(
    webhook: { url: string; secret: string },
    ingest: Ingest,
    until: AbortSignal,
  ): Promise<void> {
    context.route(createWebhookRoute(options.webhookPath, webhook.secret, ingest, context.connection.received))
    await setWebhook(api, webhook, until).catch(throwConnectError)
    tasks.push(watchWebhook(account, webhook.url))
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
}

function throwConnectError(error: unknown): never {
  throw toConnectError(error)
}

export default definePlatform({
  createAdapter,
  async diagnose({ account, options }: DiagnosticContext, signal) {
    const parsed = parseOptions(options, account)
    return await diagnose(createApi(parsed), parsed, signal)
  },
  invite: ({ account, options }, signal) => invite(createApi(parseOptions(options, account)), signal),
})
