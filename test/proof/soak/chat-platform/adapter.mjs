/**
 * The adapter of the soak's chat server. It is installed in the home of the gateway, so it may import only `#sdk` and
 * Node. It is JavaScript, because removing types costs memory that no bundled platform needs.
 *
 * It polls like Telegram: a request with an offset acknowledges all updates before it. Each poll contains the memory
 * figures of the process, which nothing outside the process can read.
 */
import process from 'node:process'
import { brand, definePlatform, sleep } from '#sdk'

export default definePlatform({
  createAdapter({ options, account, accept, log }) {
    const url = String(options['url'])
    const disconnected = new AbortController()
    let offset = 0

    /**
     * @param {string} path
     * @param {unknown} body
     */
    async function call(path, body) {
      const { signal } = disconnected
      const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), signal })
      return response.json()
    }

    /** @param {{ id: number, chat: string, text: string }} update */
    async function acceptUpdate({ id, chat, text }) {
      /** @type {import('#sdk').MessageEvent} */
      const event = {
        source: { platform: 'soakchat', account, chatId: chat, chatType: 'dm', userId: `user-${chat}` },
        text,
        messageType: 'text',
        messageId: String(id),
        timestamp: Date.now(),
      }
      await accept(event, [brand(`soakchat:${id}`)])
    }

    async function poll() {
      while (!disconnected.signal.aborted) {
        try {
          const updates = await call('/updates', { offset, memory: process.memoryUsage() })
          await Promise.all(updates.map(acceptUpdate))
          for (const { id } of updates) offset = Math.max(offset, id + 1)
        } catch (error) {
          if (disconnected.signal.aborted) return
          log.warn({ event: 'soakchat.poll_failed', err: error }, 'poll failed')
          await sleep(500, disconnected.signal)
        }
      }
    }

    /**
     * @param {string} path
     * @param {import('#sdk').OutboundMessage} message
     * @param {string} [messageId]
     */
    async function deliver(path, { text, kind, target }, messageId) {
      const sent = await call(path, { text, kind, chat: target.chatId, messageId })
      return { success: /** @type {const} */ (true), messageId: String(sent.messageId) }
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
    }
  },
})
