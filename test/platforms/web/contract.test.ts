import { createAdapter } from '../../../platforms/web/adapter.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import { platformContract } from '../../kit/contracts/platform.ts'
import { type ServedAdapter, serveAdapter, token } from '../../kit/served-adapter.ts'
import { createLineReader, type LineReader, target } from './support.ts'

platformContract('the chat page', async () => {
  const served = await serveAdapter('web', createAdapter)
  let page: LineReader | undefined
  return {
    adapter: withOutbox(served),
    gateway: served.gateway,
    target,
    createAnother: served.createAnother,
    secrets: [token],
    async say(text, id) {
      const body = JSON.stringify({ chat: target.chatId, id: `message-${id}`, text })
      return (await served.request('/web/messages', { method: 'POST', body })).status === 202
    },
    async press(button, messageId) {
      const body = JSON.stringify({ chat: target.chatId, button, entry: messageId })
      const pressed: unknown = await (await served.request('/web/press', { method: 'POST', body })).json()
      return String(Object(pressed).text)
    },
    async openChat() {
      page = createLineReader(await served.request(`/web/stream?chat=${target.chatId}`))
      await page.until('ready')
    },
    async seen(text) {
      for (;;) {
        const event = await page?.until('entry')
        if (Object(event?.['entry']).text === text) return
      }
    },
    async close() {
      await page?.close()
      await served.close()
    },
  }
})

/** The page reads what the outbox has stored, so what is sent is in the history before the adapter hears of it. */
function withOutbox({ adapter, gateway: { history } }: ServedAdapter): PlatformAdapter {
  const store = (text: string) =>
    history.push({ id: `entry-${history.length}`, from: 'agent', kind: 'message', text, at: 1_700_000_000_000 })
  return {
    ...adapter,
    send(message, signal) {
      if (message.kind !== 'draft') store(message.text)
      return adapter.send(message, signal)
    },
    async edit(messageId, message, final, signal) {
      if (adapter.edit === undefined) throw new Error('the page can edit')
      if (final) store(message.text)
      return adapter.edit(messageId, message, final, signal)
    },
  }
}
