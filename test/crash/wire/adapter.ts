/**
 * The adapter of the chat server. It is installed in the home of the gateway under test, so it may import only `#sdk` and Node.
 * It polls like Telegram: a request with an offset acknowledges all updates before it.
 */
import { channel } from 'node:diagnostics_channel'
import {
  brand,
  definePlatform,
  type EventKey,
  type MessageEvent,
  type OutboundMessage,
  type PlatformAdapter,
  type SendResult,
  sleep,
} from '#sdk'

interface Update {
  readonly id: number
  readonly chat: string
  readonly text: string
}

export default definePlatform({
  createAdapter({ options, account, accept, log }): PlatformAdapter {
    const url = String(options['url'])
    const disconnected = new AbortController()
    let offset = 0
    /** By chat: whether one of its turns has begun. A message `then …` arrives during the turn before it. */
    const started = new Map<string, PromiseWithResolvers<void>>()
    const begin = (chat: string) => {
      const known = started.get(chat) ?? Promise.withResolvers<void>()
      started.set(chat, known)
      return known
    }

    const failpoint = (point: string) => channel('crash-test:failpoint').publish(point)

    async function call(path: string, body: unknown): Promise<unknown> {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        signal: disconnected.signal,
      })
      return response.json()
    }

    async function poll(): Promise<void> {
      while (!disconnected.signal.aborted) {
        try {
          const updates = (await call('/updates', { offset })) as Update[]
          if (offset > 0) failpoint('wire:acknowledged')
          for (const update of updates) {
            if (update.text.startsWith('then')) await (started.get(update.chat) ?? begin(update.chat)).promise
            await accept(eventOf(update, account), [brand<EventKey>(`wire:${update.id}`)])
            offset = update.id + 1
          }
        } catch (error) {
          if (disconnected.signal.aborted) return
          log.warn({ event: 'wire.poll_failed', error }, 'poll failed')
          await sleep(50, disconnected.signal)
        }
      }
    }

    async function deliver(path: string, message: OutboundMessage, messageId?: string): Promise<SendResult> {
      failpoint('wire:before-send')
      const { deliveryId, text, kind, target, attachment } = message
      const shown = attachment === undefined ? text : `[${attachment.kind}] ${text}`
      const sent = (await call(path, { deliveryId, text: shown, kind, chat: target.chatId, messageId })) as {
        messageId: string
      }
      failpoint('wire:after-send')
      return { success: true, messageId: sent.messageId }
    }

    return {
      async connect() {
        void poll()
      },
      async disconnect() {
        disconnected.abort()
      },
      send: (message) => deliver('/send', message),
      edit: (messageId, message) => deliver('/edit', message, messageId),
      sendsAttachments: true,
      draftIntervalMs: 1,
      activity(target, { kind }) {
        if (kind === 'turn-started') begin(target.chatId).resolve()
      },
      locate: async ({ ref }) => ({ url: `${url}/files/${ref}`, trusted: url }),
    }
  },
})

function eventOf({ id, chat, text }: Update, account: string): MessageEvent {
  // A stranger is on no allow list.
  const userId = chat.startsWith('stranger') ? chat : 'u1'
  const source = { platform: 'wire', account, chatId: chat, chatType: 'dm' as const, userId }
  const busy = /^(?:interrupt|collect|steer)(?=-)/.exec(chat)?.[0] ?? 'queue'
  const event = {
    source,
    text,
    messageType: 'text' as const,
    messageId: String(id),
    timestamp: Date.now(),
    metadata: { busy },
  }
  if (text === 'photo') return { ...event, attachments: [{ kind: 'photo', ref: 'f1' }] }
  if (text !== 'voice') return event
  return {
    ...event,
    text: '',
    messageType: 'voice',
    attachments: [{ kind: 'voice', ref: 'voice', mimeType: 'audio/ogg' }],
  }
}
