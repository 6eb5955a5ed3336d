/**
 * The web platform: the gateway's own chat page.
 *
 * A closed page needs no delivery, because it reads the history when it is opened. Sending therefore only notifies the open
 * pages, which read the stored reply. It always succeeds and can be repeated.
 */
import {
  definePlatform,
  isHermesError,
  messageOf,
  type OutboundMessage,
  type PlatformAdapter,
  type PlatformContext,
} from '#sdk'
import { createPageFiles, toWireEntry } from './files.ts'
import { createHub } from './hub.ts'
import { storedToolEvent } from './live-chat.ts'
import { createRoutes } from './routes.ts'

/** Larger than any reply, because a page needs no splitting. */
const maxChars = 1_000_000
/** The interval between two updates of a draft, ms. */
const draftIntervalMs = 60

export function createAdapter(context: PlatformContext): PlatformAdapter {
  const hub = createHub({
    history: async (chatId, query) => (await context.chats.history(chatId, query)).map(toWireEntry),
    toolCalls: async (chatId, turnIds) => (await context.chats.toolCalls.list(chatId, turnIds)).map(storedToolEvent),
    info: () => context.gateway.info(),
    clock: context.clock,
    modelOf: (chatId) =>
      context.gateway.modelOf({ platform: context.platform, account: context.account, chatId, chatType: 'dm' }),
    log: context.log,
  })
  const files = createPageFiles(context)
  const closing = new AbortController()

  return {
    limits: { maxChars, unit: 'utf16' },
    draftIntervalMs,
    idempotentSends: true,
    drawsCursor: true,
    showsButtons: true,
    sendsAttachments: true,

    async connect() {
      for (const route of createRoutes(context, hub, files, closing.signal)) context.route(route)
    },
    async disconnect() {
      closing.abort()
      hub.close()
    },
    async send(message, signal) {
      const { chatId } = message.target
      if (message.attachment !== undefined) {
        try {
          await files.keep(message.deliveryId, message.attachment, signal)
        } catch (error) {
          const problem = isHermesError(error) && error.code.startsWith('media/') ? 'rejected' : 'temporary'
          return { success: false, problem, error: messageOf(error) }
        }
      }
      if (message.kind === 'draft') showDraft(chatId, message.deliveryId, message)
      else hub.wake(chatId)
      return { success: true, messageId: message.deliveryId }
    },
    async edit(messageId, message, final) {
      const { chatId } = message.target
      if (!final) {
        showDraft(chatId, messageId, message)
        return { success: true, messageId }
      }
      hub.wake(chatId)
      dropDraft(chatId, messageId)
      return { success: true, messageId }
    },
    async remove({ chatId }, messageId) {
      if (!dropDraft(chatId, messageId)) {
        return { success: false, problem: 'rejected', error: 'only a draft can be removed from the page' }
      }
      return { success: true, messageId }
    },
    async typing({ chatId }) {
      hub.publish(chatId, [{ type: 'typing' }])
      return { success: true }
    },
    activity({ chatId }, activity) {
      hub.publish(chatId, hub.chat(chatId).applyActivity(activity))
      hub.prune(chatId)
    },
  }

  function showDraft(chatId: string, id: string, message: OutboundMessage): void {
    const event = hub.chat(chatId).updateDraft(id, message.turnId ?? '', message.text)
    if (event !== null) hub.publish(chatId, [event])
  }

  function dropDraft(chatId: string, id: string): boolean {
    const known = hub.chat(chatId).dropDraft(id)
    if (known) hub.publish(chatId, [{ type: 'draft-gone', id }])
    hub.prune(chatId)
    return known
  }
}

export default definePlatform({ createAdapter })
