/**
 * The first words of the model reach clients of the API before the model has written the next ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'

const wrapper = `ctx.registerIntercept('wrap', 'model_execution', (_call, next) => next(), { answers: 'unchanged' })`

for (const { name, plugins } of [
  { name: 'without a plugin', plugins: [] },
  { name: 'with a wrapper around the model call', plugins: ['wrap'] },
]) {
  test(`the API streams the first word while the second is not written, ${name}`, async (t) => {
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
    const messages = [{ role: 'user', content: 'sure?' }]
    const response = await gateway.http('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages, stream: true }),
      signal: AbortSignal.timeout(10_000),
    })
    assert.ok(response.body !== null)
    let received = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      received += piece
      if (received.includes('"content":"Yes"')) release()
    }
    assert.match(received, /"content":"Yes"/)
    assert.match(received, /indeed/)
  })
}
