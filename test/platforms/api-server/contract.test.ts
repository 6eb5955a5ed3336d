import { createApiServer } from '../../../platforms/api_server/adapter.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import { platformContract } from '../../kit/contracts/platform.ts'
import { type ServedAdapter, serveAdapter, token } from '../../kit/served-adapter.ts'

const target = { platform: 'api_server', account: 'default', chatId: 'session-1' }

platformContract('the OpenAI API', async () => {
  const served = await serveAdapter('api_server', createApiServer)
  const over = new AbortController()
  const ask = (text: string, id: string, stream: boolean) =>
    served.request('/v1/chat/completions', {
      method: 'POST',
      headers: { 'x-hermes-session-id': target.chatId, 'idempotency-key': id },
      body: JSON.stringify({ model: 'hermes', stream, messages: [{ role: 'user', content: text }] }),
      signal: over.signal,
    })
  return {
    adapter: withOutcomes(served),
    gateway: served.gateway,
    target,
    createAnother: served.createAnother,
    secrets: [token],
    // A streamed answer begins when the message is on disk.
    say: async (text, id) => (await ask(text, id, true)).ok,
    async seen(text) {
      const answer = await (await ask('what did you say?', 'looking', false)).json()
      const [choice] = Object(answer).choices
      if (choice?.message?.content !== text) throw new Error('the client got another answer')
    },
    async close() {
      over.abort()
      await served.close()
    },
  }
})

/** Clients get the answer with the outcome of their turn, which is stored together with what is sent. */
function withOutcomes({ adapter, gateway }: ServedAdapter): PlatformAdapter {
  /** Settles everything that was asked, and what is asked next. */
  const settle = (text: string) => {
    for (let seq = 1; seq <= gateway.ingestedEvents.length + 1; seq += 1) gateway.completeTurn(seq, { text })
  }
  return {
    ...adapter,
    send(message, signal) {
      if (message.kind !== 'draft') settle(message.text)
      return adapter.send(message, signal)
    },
    async edit(messageId, message, final, signal) {
      if (adapter.edit === undefined) throw new Error('the API can edit')
      if (final) settle(message.text)
      return adapter.edit(messageId, message, final, signal)
    },
  }
}
