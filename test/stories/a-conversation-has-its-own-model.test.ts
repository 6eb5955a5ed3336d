/**
 * Conversations, chats and platforms have models of their own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

async function modelFor(gateway: TestGateway, text: string, options = {}): Promise<unknown> {
  await gateway.say(text, options)
  await gateway.waitForReply(`You said: ${text}`)
  return gateway.model.requests.at(-1)?.body['model']
}

test('a thread, its chat and the platform name the model, the most specific first', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      platforms: {
        fake: {
          model: 'of-platform',
          channel_overrides: { news: { model: 'of-news', system_prompt: 'Be brief.' }, 17: { model: 'of-thread' } },
        },
      },
    },
  })
  assert.equal(await modelFor(gateway, 'one'), 'of-platform')
  assert.equal(await modelFor(gateway, 'two', { chat: 'news', user: 'bob' }), 'of-news')
  assert.match(String(at(gateway.model.requests.at(-1)?.body, 'messages', 0, 'content')), /Be brief\.$/)
  assert.equal(await modelFor(gateway, 'three', { chat: 'news', thread: '17', user: 'bob' }), 'of-thread')
  // The configured key and address stay those of the provider.
  assert.equal(gateway.model.requests.at(-1)?.headers['authorization'], 'Bearer test-key')
})

test('a provider that was removed leaves the conversation to the next level, and the person is told once', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { platforms: { fake: { channel_overrides: { news: { model: 'gone', provider: 'custom:gone' } } } } },
  })
  assert.equal(await modelFor(gateway, 'one', { chat: 'news' }), 'test-model')
  assert.equal(await modelFor(gateway, 'two', { chat: 'news' }), 'test-model')
  const notices = gateway.replies('news').filter((text) => text.includes('custom:gone'))
  assert.equal(notices.length, 1)
  await gateway.waitForLog({ event: 'model.choice_unusable', provider: 'custom:gone' })
})
