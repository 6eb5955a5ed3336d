/**
 * The adapter of the made-up chat product. It lies in the home of the gateway under test, so it knows `#sdk` alone.
 * Polls as Telegram does: asking from an offset acknowledges everything before it.
 */
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
    const over = new AbortController()
    let offset = 0

    const probe = (point: string) => {
      if (options['kill_at'] === point) process.kill(process.pid, 'SIGKILL')
    }

    async function call(path: string, body: unknown): Promise<unknown> {
      const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), signal: over.signal })
      return response.json()
    }

    async function poll(): Promise<void> {
      while (!over.signal.aborted) {
        try {
          const updates = (await call('/updates', { offset })) as Update[]
          if (offset > 0) probe('wire:acknowledged')
          for (const update of updates) {
            await accept(eventOf(update, account), [brand<EventKey>(`wire:${update.id}`)])
            offset = update.id + 1
          }
        } catch (error) {
          if (over.signal.aborted) return
          log.warn({ error }, 'poll failed')
          await sleep(50, over.signal)
        }
      }
    }

    async function deliver(path: string, message: OutboundMessage, messageId?: string): Promise<SendResult> {
      probe('wire:before-send')
      const { deliveryId, text, kind, target } = message
      const answer = (await call(path, { deliveryId, text, kind, chat: target.chatId, messageId })) as {
        messageId: string
      }
      probe('wire:after-send')
      return { success: true, messageId: answer.messageId }
    }

    return {
      async connect() {
        void poll()
      },
      async disconnect() {
        over.abort()
      },
      send: (message) => deliver('/send', message),
      edit: (messageId, message) => deliver('/edit', message, messageId),
      draftIntervalMs: 1,
      locate: async ({ ref }) => ({ url: `${url}/files/${ref}`, trusted: url }),
    }
  },
})

function eventOf({ id, chat, text }: Update, account: string): MessageEvent {
  const source = { platform: 'wire', account, chatId: chat, chatType: 'dm' as const, userId: 'u1' }
  const event = { source, text, messageType: 'text' as const, messageId: String(id), timestamp: Date.now() }
  return text === 'photo' ? { ...event, attachments: [{ kind: 'photo', ref: 'f1' }] } : event
}
