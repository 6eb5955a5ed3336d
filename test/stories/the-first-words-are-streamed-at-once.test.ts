/**
 * The first words of the model reach clients of the API and open pages before the model has written the next ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'

const wrapper = `ctx.registerIntercept('wrap', 'model_execution', (_call, next) => next(), { answers: 'unchanged' })`

interface Client {
  readonly name: string
  /** Sends a message and resolves with the stream that receives its reply. */
  ask(gateway: TestGateway): Promise<Response>
  readonly firstWord: RegExp
  /** Appears after the second word. */
  readonly end: RegExp
}

const api: Client = {
  name: 'the API streams',
  ask: (gateway) =>
    gateway.http('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'sure?' }], stream: true }),
      signal: AbortSignal.timeout(waitLimitMs()),
    }),
  firstWord: /"content":"Yes"/,
  end: /indeed[\s\S]*\[DONE\]/,
}

const page: Client = {
  name: 'the page shows',
  async ask(gateway) {
    const stream = await gateway.http('/web/stream?chat=main', { signal: AbortSignal.timeout(waitLimitMs()) })
    await gateway.post('/web/messages', { chat: 'main', id: 'message-1', text: 'sure?' })
    return stream
  },
  firstWord: /"type":"draft"[^\n]*"text":"Yes"/,
  end: /"type":"entry"[^\n]*"Yes indeed"/,
}

for (const { name, ask, firstWord, end } of [api, page]) {
  for (const plugins of [[], ['wrap']]) {
    const suffix = plugins.length === 0 ? 'without a plugin' : 'with a wrapper around the model call'
    test(`${name} the first word while the second is not written, ${suffix}`, async (t) => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      // Frame 0 has the role, frame 1 the first word.
      const gate = async (frame: number) => {
        if (frame >= 2) await released
      }
      const gateway = await startTestGateway(t, {
        replies: [{ text: 'Yes indeed', gate }],
        config: { plugins: { enabled: plugins } },
        prepare: (home) => writeFiles(home.plugins, pluginFiles('wrap', wrapper)),
      })
      t.after(() => release())
      const response = await ask(gateway)
      assert.ok(response.body !== null)
      let received = ''
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        received += piece
        if (firstWord.test(received)) release()
        if (end.test(received)) break
      }
      assert.match(received, firstWord)
      assert.match(received, end)
    })
  }
}

test('the reply on the page replaces its draft, also for a page that is opened later', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'Yes indeed' }] })
  await (await page.ask(gateway)).body?.cancel()
  await gateway.waitForLog({ event: 'outbox.delivered' })
  assert.ok(!gateway.log.some((line) => line.includes('outbox.draft_missing')))
  const later = await gateway.http('/web/stream?chat=main', { signal: AbortSignal.timeout(waitLimitMs()) })
  assert.ok(later.body !== null)
  let received = ''
  for await (const piece of later.body.pipeThrough(new TextDecoderStream())) {
    received += piece
    if (page.end.test(received)) break
  }
  assert.doesNotMatch(received, /"type":"draft"/)
})
