/**
 * The Discord adapter: connects one account of the platform and disconnects it.
 */
import { type DiagnosticContext, definePlatform, type PlatformAdapter, type PlatformContext } from '#sdk'
import { createAccount } from './account.ts'
import { type Api, createApi, retryAfterRateLimit } from './connection/api.ts'
import { registerCommands } from './connection/commands.ts'
import { createGateway } from './connection/gateway.ts'
import { closeRest, createRest } from './connection/rest.ts'
import { type GatewayTiming, gatewayTiming } from './connection/timing.ts'
import { diagnose, invite } from './diagnose.ts'
import { describeError } from './errors.ts'
import { resolveAttachmentUrl } from './inbound/attachment-url.ts'
import { createIngest } from './inbound/ingest.ts'
import { createInteractionResponder } from './inbound/interaction-responder.ts'
import { asRecord, idsAt } from './inbound/payload.ts'
import { parseOptions } from './options.ts'
import { renderedLength } from './outbound/markup.ts'
import { maxChars } from './outbound/render.ts'
import { createSender } from './outbound/sender.ts'
import { createStatusReactions } from './outbound/status-reactions.ts'

/** Discord allows five edits in five seconds per channel. */
const draftIntervalMs = 1_100

export interface AdapterTiming extends GatewayTiming {
  /** An interaction is deferred when its response takes longer. */
  readonly deferAfterMs: number
}

/** @param timing overrides the timing for tests */
export function createAdapter(context: PlatformContext, timing: Partial<AdapterTiming> = {}): PlatformAdapter {
  const { log } = context
  const account = createAccount(context)
  const { api, guildCache, options, stopping } = account
  const sender = createSender(account)
  const ingest = createIngest(account, sender, createInteractionResponder(account, timing.deferAfterMs))
  const gateway = createGateway(account, { ...gatewayTiming, ...timing }, ingest)
  let menu = Promise.resolve()

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
      stopping.abort()
      await gateway.close()
      closeRest(account.rest)
    },
    send: sender.send,
    albums: sender.albums,
    edit: (messageId, message, _final, signal) => sender.edit(messageId, message, signal),
    remove: sender.remove,
    typing: sender.typing,
    resolveUnknown: sender.resolveUnknown,
    locate: (attachment, signal) => resolveAttachmentUrl(attachment, account, signal),
    async heldRoles({ scopeId, userId }, names, signal) {
      if (scopeId === undefined || userId === undefined) return []
      const roles = idsAt(asRecord(await api.member(scopeId, userId, signal)), 'roles')
      return names.filter((name) => roles.some((role) => name === `role:${role}`))
    },
    findChats: async () => guildCache.writableChannels(),
    commandsChanged: updateMenu,
    ...(options.reactions ? { activity: createStatusReactions(account) } : {}),
  }

  /** One update at a time, so that the newest list wins. */
  function updateMenu(): void {
    menu = menu.then(registerSlashCommands)
  }

  /** Never rejects: commands that are not registered can still be typed. */
  async function registerSlashCommands(): Promise<void> {
    const application = guildCache.botUser()?.applicationId
    if (application === undefined || stopping.signal.aborted) return
    try {
      await context.menu.complete()
      const isChanged = await retryAfterRateLimit(stopping.signal, () =>
        registerCommands(api, application, context.menu.commands(), stopping.signal),
      )
      if (isChanged) log.info({ event: 'discord.commands_registered' }, 'slash commands were registered')
    } catch (error) {
      if (!stopping.signal.aborted)
        log.warn(
          { event: 'discord.commands_failed', reason: describeError(error) },
          'slash commands could not be registered',
        )
    }
  }
}

export default definePlatform({
  createAdapter: (context) => createAdapter(context),
  diagnose: ({ options }, signal) => withApi(options, (api) => diagnose(api, signal)),
  invite: ({ options }, signal) => withApi(options, (api) => invite(api, signal)),
})

async function withApi<T>(values: DiagnosticContext['options'], ask: (api: Api) => Promise<T>): Promise<T> {
  const rest = createRest(parseOptions(values))
  try {
    return await ask(createApi(rest))
  } finally {
    closeRest(rest)
  }
}
