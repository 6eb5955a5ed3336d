/**
 * Conversations, chats and platforms have models of their own.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { startAnthropicServer } from '../kit/servers/anthropic-server.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, rowsIn, runCommand } from './support.ts'

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

const labServer = (base_url: string) => ({ base_url, api_mode: 'anthropic_messages', api_key: 'lab-secret-key' })

async function startWithTwoProviders(t: TestContext) {
  const other = await startAnthropicServer({
    defaultReply: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
    models: () => [{ id: 'claude-large', max_input_tokens: 300_000 }, { id: 'claude-small' }],
  })
  t.after(other.stop)
  const gateway = await startTestGateway(t, { config: { providers: { lab: labServer(other.baseUrl) } } })
  return { gateway, other }
}

test('/model changes the model of one conversation from the next turn on, also after a restart', async (t) => {
  const { gateway, other } = await startWithTwoProviders(t)
  const ask = async (text: string, options = {}) => {
    await gateway.say(text, options)
    await gateway.waitForReply(`You said: ${text}`)
  }
  await ask('one')
  assert.match(await runCommand(gateway, '/model lab:claude-large'), /claude-large \(lab\).*300,000/)
  await ask('two')
  const [first] = other.requests
  assert.equal(first?.body['model'], 'claude-large')
  assert.equal(first.headers['x-api-key'], 'lab-secret-key')
  assert.match(JSON.stringify(first.body['messages']), /one/, 'the model sees the conversation')
  await ask('elsewhere', { chat: 'other', user: 'bob' })
  assert.equal(gateway.model.requests.at(-1)?.body['model'], 'test-model')
  // The system prompt stays byte for byte what it was.
  const system = at(gateway.model.requests[0]?.body, 'messages', 0, 'content')
  assert.equal(at(first.body, 'system', 0, 'text'), system)
  const [stored] = rowsIn(gateway.home, 'select settings from session_settings')
  assert.doesNotMatch(String(stored?.['settings']), /lab-secret-key|http/)

  await gateway.stop()
  await gateway.start()
  await ask('three')
  assert.equal(other.requests.at(-1)?.body['model'], 'claude-large')
  assert.match(await runCommand(gateway, '/status'), /claude-large \(lab\)/)
  assert.match(await runCommand(gateway, '/model reset'), /test-model \(openai\)/)
  await ask('four')
  assert.equal(gateway.model.requests.at(-1)?.body['model'], 'test-model')
})

test('/model names what is wrong with a request, and changes nothing then', async (t) => {
  const { gateway } = await startWithTwoProviders(t)
  const cases: readonly (readonly [string, RegExp])[] = [
    ['/model lab:claude-lrge', /claude-large/],
    ['/model lab:claude', /lab:claude-large.*lab:claude-small/],
    ['/model lab:gpt', /does not have this model/],
    ['/model --provider stranger x', /no provider `stranger`/],
    ['/model deepseek:chat', /DEEPSEEK|key of deepseek/],
    ['/model lab:claude-large --fast', /--provider/],
    ['/model a b', /no spaces/],
    ['/model lab:claude-large --global', /owners/],
    ['/model list', /claude-large/],
    ['/model list stranger', /no such provider/],
  ]
  for (const [command, expected] of cases) assert.match(await runCommand(gateway, command), expected, command)
  assert.deepEqual(rowsIn(gateway.home, 'select settings from session_settings'), [])
  assert.match(await runCommand(gateway, '/model CLAUDE-SMALL'), /claude-small \(lab\)/)
})

test('a provider that leaves the configuration leaves its conversations to the configured model', async (t) => {
  const { gateway } = await startWithTwoProviders(t)
  await runCommand(gateway, '/model lab:claude-large')
  gateway.configure({ providers: {} })
  await gateway.waitForLog({ event: 'config.reloaded' })
  assert.equal(await modelFor(gateway, 'one'), 'test-model')
  assert.ok(gateway.replies().some((text) => text.includes('claude-large (lab)')))
  assert.match(await runCommand(gateway, '/model'), /test-model.*configured[\s\S]*claude-large/)
})

test('a guest may not change the model of a conversation that several people share', async (t) => {
  const { gateway } = await startWithTwoProviders(t)
  gateway.configure({ group_sessions_per_user: false })
  await gateway.waitForLog({ event: 'config.reloaded' })
  const shared = { chat: 'room', chatType: 'group', user: 'eve' } as const
  await gateway.say('/model lab:claude-large', shared)
  await gateway.waitForReply('for members', 'room')
})

test('an owner changes the model of all conversations with --global', async (t) => {
  const { gateway, other } = await startWithTwoProviders(t)
  gateway.configure({ roles: { owners: ['fake:user'] }, providers: { lab: labServer(other.baseUrl) } })
  await gateway.waitForLog({ event: 'config.reloaded' })
  assert.match(await runCommand(gateway, '/model lab:claude-small --global'), /all conversations/)
  await gateway.waitForLogLine(2, { event: 'config.reloaded' })
  assert.equal(await modelFor(gateway, 'one', { chat: 'other', user: 'bob' }), undefined)
  assert.equal(other.requests.at(-1)?.body['model'], 'claude-small')
  // The key of the former provider stays, with its address.
  assert.match(readFileSync(gateway.home.configFile, 'utf8'), /"?custom"?: ?\{[^}]*test-key/)
})

test('a conversation that is too long for its new model is compressed by it before the answer', async (t) => {
  const other = await startOpenAiServer({ defaultReply: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }) })
  t.after(other.stop)
  const lab = { base_url: other.baseUrl, models: { tiny: { context_length: 16_000 }, wide: {} } }
  const gateway = await startTestGateway(t, {
    config: { providers: { lab } },
    model: () => ({ text: 'A short answer.' }),
  })
  for (const text of ['one', 'two', 'three']) {
    await gateway.say(`${text} ${'word '.repeat(3_000)}`)
    await gateway.waitForEvent('agent:end', { message: `${text} ${'word '.repeat(3_000)}`.slice(0, 500) })
  }
  assert.match(await runCommand(gateway, '/model lab:tiny'), /16,000/)
  await gateway.say('and now?')
  await gateway.waitForEvent('session:compress')
  await gateway.waitForReply('You said: and now?')
  assert.ok(other.requests.length >= 2, 'the summary and the answer')
  assert.deepEqual([...new Set(other.requests.map(({ body }) => body['model']))], ['tiny'])
})

test('a sub-agent in the background has the model of the conversation that has started it', async (t) => {
  const goal = 'count the files'
  const call = { toolCalls: [{ name: 'delegate_task', arguments: { goal, background: true } }] }
  const other = await startOpenAiServer({
    models: () => [{ id: 'large' }],
    defaultReply: ({ lastUserText }) => (lastUserText === 'find out' ? call : { text: 'done' }),
  })
  t.after(other.stop)
  const gateway = await startTestGateway(t, { config: { providers: { lab: { base_url: other.baseUrl } } } })
  await runCommand(gateway, '/model lab:large')
  await gateway.say('find out')
  await gateway.waitForEvent('agent:end', { model: 'large' })
  await gateway.waitForReply('done')
  const ofChild = other.requests.filter(({ body }) => JSON.stringify(body['messages']).includes(`"${goal}`))
  assert.ok(ofChild.length > 0)
  assert.equal(gateway.model.requests.length, 0)
})

test('a task in the background has the model of the conversation that asked for it', async (t) => {
  const { gateway, other } = await startWithTwoProviders(t)
  await runCommand(gateway, '/model lab:claude-small')
  await gateway.say('/background find out')
  await gateway.waitForReply('You said: find out')
  assert.equal(other.requests.at(-1)?.body['model'], 'claude-small')
  assert.equal(gateway.model.requests.length, 0)
})
