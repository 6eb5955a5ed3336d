/**
 * The adapter of the benchmark's chat server.
 */
import { brand, definePlatform, type EventKey, type PlatformAdapter } from '#sdk'
import { poll, send, type Update } from './client.ts'

export default definePlatform({
  createAdapter({ options, account, accept, log }): PlatformAdapter {
    const url = String(options['url'])
    const over = new AbortController()

    async function take({ id, chat, text }: Update): Promise<void> {
      const source = { platform: 'wire', account, chatId: chat, chatType: 'dm' as const, userId: 'u1' }
      const event = { source, text, messageType: 'text' as const, messageId: String(id), timestamp: Date.now() }
      await accept(event, [brand<EventKey>(`wire:${id}`)])
    }

    return {
      async connect() {
        poll(url, take, over.signal).catch((error) => {
          if (!over.signal.aborted) log.error({ error }, 'the poll ended')
        })
      },
      async disconnect() {
        over.abort()
      },
      async send({ target, text }) {
        await send(url, target.chatId, text)
        return { success: true, messageId: 'm' }
      },
    }
  },
})
