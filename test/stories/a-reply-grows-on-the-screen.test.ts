import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { waitForCommandReply } from './support.ts'

const config = { streaming: { buffer_threshold: 4, edit_interval: 0 } }
const words = 'The quick brown fox jumps over the lazy dog.'

test('a reply is streamed into one message that ends as the complete text', async (t) => {
  const held = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config,
    replies: [{ text: words, gate: (frame) => (frame === 5 ? held.promise : Promise.resolve()) }],
  })
  await gateway.say('tell me')
  await gateway.until(({ kind, text }) => kind === 'draft' && text.startsWith('The quick'))
  held.resolve()
  await gateway.waitForEvent('agent:end')
  await gateway.waitForLog({ event: 'outbox.delivered' })
  const shown = gateway.platform.shown()
  assert.equal(shown.length, 1)
  assert.equal(shown[0]?.text, words)
  for (const version of shown[0]?.versions ?? []) assert.ok(words.startsWith(version.replace(/ ?▉$/, '')), version)
})

test('a reply interrupted by a stop continues in its message', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config,
    replies: [{ text: words, hang: 'stream', hangAfter: 6 }, { text: words }],
  })
  await gateway.say('tell me')
  await gateway.until(({ kind, text }) => kind === 'draft' && text.startsWith('The quick'))
  await gateway.stop(AbortSignal.abort())
  await gateway.start()
  await gateway.waitForLog({ event: 'outbox.delivered' })
  assert.deepEqual(gateway.replies(), [words])
})

test('a stopped reply keeps the text that was shown', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config,
    replies: [{ text: words, hang: 'stream', hangAfter: 6 }],
  })
  await gateway.say('tell me')
  await gateway.until(({ kind, text }) => kind === 'draft' && text.startsWith('The quick'))
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.waitForLog({ event: 'outbox.delivered', key: /^turn:/ })
  assert.match(gateway.replies()[0] ?? '', /^The quick.*\(stopped\)/s)
})

test('a long reply arrives completely in ordered parts', async (t) => {
  const lines = Array.from({ length: 400 }, (_, index) => `${index}: some words that make the answer long`)
  const gateway = await startTestGateway(t, { replies: [{ text: lines.join('\n') }] })
  await gateway.say('count')
  await gateway.waitForReply('399: some words')
  const parts = gateway.replies()
  assert.ok(parts.length > 1)
  for (const part of parts) assert.ok(part.length <= 4_000)
  const numbers = parts
    .join('\n')
    .match(/^\d+(?=:)/gm)
    ?.map(Number)
  assert.deepEqual(numbers, [...lines.keys()])
})

test('a rate-limited platform receives every reply once and in order', async (t) => {
  const gateway = await startTestGateway(t)
  gateway.platform.failNext('rate-limited', { times: 2, retryAfterMs: 20 })
  await Promise.all([gateway.say('first'), gateway.say('second')])
  await gateway.waitForReply('You said: second')
  assert.deepEqual(gateway.replies(), ['You said: first', 'You said: second'])
})

test('an uncertain delivery is repeated with a label if the platform cannot be asked', async (t) => {
  const gateway = await startTestGateway(t)
  gateway.platform.dropResponse()
  await gateway.say('hello')
  await gateway.waitForReply('May be a duplicate')
  assert.equal(gateway.replies()[0], 'You said: hello')
  assert.equal(gateway.replies().length, 2)
})

test('an uncertain delivery is not repeated if the platform confirms it', async (t) => {
  const gateway = await startTestGateway(t, { capabilities: ['resolve'] })
  gateway.platform.dropResponse()
  await gateway.say('hello')
  await gateway.waitForLog({ event: 'outbox.delivered' })
  assert.deepEqual(gateway.replies(), ['You said: hello'])
})
