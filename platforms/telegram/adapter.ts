/**
 * Telegram: the account of one bot, from the options to what the gateway sees of it. The only file here that opens the
 * network; the others get what they call.
 */
import { Agent } from 'node:https'
import { performance } from 'node:perf_hooks'
import { Telegram } from 'telegraf'
import {
  type Attachment,
  type DiagnosedAccount,
  definePlatform,
  messageOf,
  type PlatformAdapter,
  type PlatformContext,
  pause,
} from '#sdk'
import { type BotApi, createBotApi, type TelegrafClient } from './bot-api.ts'
import { updateMenu } from './commands.ts'
import { diagnose } from './diagnose.ts'
import { createTokenRedactor } from './fault.ts'
import { connectError, whoAmI } from './identity.ts'
import { createIntake, type HandIn } from './intake.ts'
import { createLimits } from './limits.ts'
import { locateFile } from './locate.ts'
import { parseOptions, type TelegramOptions } from './options.ts'
import { createPoll, type Poll } from './poll.ts'
import { leaveWebhook, setWebhook, webhookInfo } from './registration.ts'
import { createSender } from './sender.ts'
import { allowedUpdates } from './updates.ts'
import { webhookRoute } from './webhook.ts'
import { watchWebhook } from './webhook-watch.ts'

/** Telegram takes uploads of this size; a Bot API server of one's own takes more. */
const uploadBytes = 50_000_000
const ownServerUploadBytes = 2_000_000_000

export function createAdapter(context: PlatformContext): PlatformAdapter {
  const options = parseOptions(context.options, context.account)
  const api = openApi(options)
  const stopping = new AbortController()
  const now = () => performance.now()
  const sender = createSender({
    api,
    maxUploadBytes: options.ownApiRoot ? ownServerUploadBytes : uploadBytes,
    limits: createLimits(now),
  })
  let poll: Poll | undefined
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
        whoAmI(api, until),
        options.webhook === undefined ? leave(until) : undefined,
      ])
      const handIn = intakeFor(username)
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

  function intakeFor(username: string): HandIn {
    const { platform, account } = context
    return createIntake({
      context,
      view: { platform, account, botId: options.botId, username, groups: options.groups },
      signal: stopping.signal,
      answerPress: (id, text, signal) => api.call('answerCallbackQuery', { callback_query_id: id, text }, signal),
      tell: (source, text, signal) => {
        const target = { platform, account, chatId: source.chatId }
        const thread = source.threadId === undefined ? {} : { threadId: source.threadId }
        const replyTo = source.messageId === undefined ? {} : { replyTo: source.messageId }
        const message = { deliveryId: '', target: { ...target, ...thread }, text, kind: 'notice' as const, ...replyTo }
        return sender.send(message, signal)
      },
    })
  }

  async function startPolling(handIn: HandIn, until: AbortSignal): Promise<void> {
    poll = createPoll({
      getUpdates: (question, signal) =>
        api.call('getUpdates', { ...question, limit: 100, allowed_updates: allowedUpdates }, signal),
      handIn,
      health: context.health,
      refused: context.refused,
      received: context.received,
      pause,
      now,
      random: Math.random,
      log: context.log,
    })
    await poll.start(until).catch(explain)
  }

  async function startWebhook(
    webhook: { url: string; secret: string },
    handIn: HandIn,
    until: AbortSignal,
  ): Promise<void> {
    const { secret, url } = webhook
    const { webhookPath: path } = options
    context.route(webhookRoute({ path, secret, handIn, received: context.received }))
    await setWebhook(api, webhook, until).catch(explain)
    const info = (signal: AbortSignal) => webhookInfo(api, signal)
    const { health, received, clock } = context
    tasks.push(watchWebhook({ url, info, health, received, pause, clock }, stopping.signal))
  }

  function leave(until: AbortSignal): Promise<void> {
    return leaveWebhook(api, options.webhookPath, until).catch(explain)
  }

  /** Nobody waits for the menu, and a bot without one works. Never rejects. */
  async function registerCommands(): Promise<void> {
    try {
      const changed = await updateMenu(api, context.commands(), stopping.signal)
      if (changed) context.log.info({}, 'the menu of commands was changed')
    } catch (error) {
      if (!stopping.signal.aborted)
        context.log.warn({ error }, `the menu of commands cannot be set: ${messageOf(error)}`)
    }
  }

  async function locate({ ref }: Attachment, signal: AbortSignal) {
    if (ref === undefined) throw new Error('The attachment has no name that Telegram knows.')
    const trusted = options.ownApiRoot ? { trusted: new URL(options.apiRoot).origin } : {}
    return await locateFile({ api, ...trusted }, ref, signal)
  }
}

function explain(error: unknown): never {
  throw connectError(error)
}

function openApi({ token, apiRoot }: TelegramOptions): BotApi {
  // An idle connection that the other side has closed, or that has died, would lose the next message: ours are closed first.
  const agent = new Agent({ keepAlive: true, timeout: 5_000 })
  const client: TelegrafClient = new Telegram(token, { apiRoot, agent })
  return createBotApi({ client, fetch, apiRoot, token, redact: createTokenRedactor(token) })
}

export default definePlatform({
  createAdapter,
  async diagnose({ account, options }: DiagnosedAccount, signal) {
    const parsed = parseOptions(options, account)
    return await diagnose(openApi(parsed), parsed, signal)
  },
})
