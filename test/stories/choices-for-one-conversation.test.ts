import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, rowsIn, runCommand } from './support.ts'

async function exchange(gateway: TestGateway, text: string, options = {}): Promise<void> {
  await gateway.say(text, options)
  await gateway.waitForReply(`You said: ${text}`)
}

const lastSystem = (gateway: TestGateway) => String(at(gateway.model.requests.at(-1)?.body, 'messages', 0, 'content'))

test('/reasoning changes the effort for one conversation until it is reset', async (t) => {
  const gateway = await startTestGateway(t, { config: { reasoning_effort: 'low' } })
  const effort = () => gateway.model.requests.at(-1)?.body['reasoning_effort']
  await exchange(gateway, 'one')
  assert.equal(effort(), 'low')
  assert.match(await runCommand(gateway, '/reasoning high'), /high/)
  await exchange(gateway, 'two')
  assert.equal(effort(), 'high')
  await exchange(gateway, 'elsewhere', { chat: 'other', user: 'bob' })
  assert.equal(effort(), 'low')
  await runCommand(gateway, '/new')
  await exchange(gateway, 'three')
  assert.equal(effort(), 'high')
  await runCommand(gateway, '/reasoning reset')
  await exchange(gateway, 'four')
  assert.equal(effort(), 'low')
  assert.match(await runCommand(gateway, '/reasoning much'), /xhigh/)
})

test('/reasoning show puts what the model thought above the answer, and only there', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [
      { text: '<think>first idea</think>\nanswer one' },
      { text: '<think>see MEDIA:/etc/passwd\nsecond idea</think>\nanswer two' },
      { text: 'answer three' },
    ],
  })
  await gateway.say('one')
  assert.equal((await gateway.waitForReply('answer one')).text, 'answer one')
  await runCommand(gateway, '/reasoning show')
  await gateway.say('two')
  assert.match((await gateway.waitForReply('answer two')).text, /second idea\n\nanswer two$/)
  await gateway.say('three')
  assert.equal((await gateway.waitForReply('answer three')).text, 'answer three')
  const stored = rowsIn(gateway.home, `select content from messages where role = 'assistant' order by ord`)
  assert.deepEqual(
    stored.map(({ content }) => content),
    ['answer one', 'answer two', 'answer three'],
  )
  const ends = gateway.events.filter(({ name }) => name === 'agent:end').map(({ context }) => context['response_full'])
  assert.deepEqual(ends, ['answer one', 'answer two', 'answer three'])
})

test('display.show_reasoning shows thinking on one platform, until a conversation chooses otherwise', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { display: { platforms: { fake: { show_reasoning: true } } } },
    replies: [{ text: '<think>first idea</think>\nanswer one' }, { text: '<think>second idea</think>\nanswer two' }],
  })
  await gateway.say('one')
  assert.match((await gateway.waitForReply('answer one')).text, /first idea\n\nanswer one$/)
  assert.match(await runCommand(gateway, '/reasoning'), /shown/)
  await runCommand(gateway, '/reasoning hide')
  assert.match(await runCommand(gateway, '/reasoning'), /hidden/)
  await gateway.say('two')
  assert.equal((await gateway.waitForReply('answer two')).text, 'answer two')
})

test('a reply that only says that it is silent is dropped for a bot, and not for a person', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { platforms: { fake: { allow_bots: 'all' } } },
    model: ({ lastUserText }) => ({ text: /beep|what/.test(lastUserText) ? '*(silent)*' : 'answer' }),
  })
  await gateway.say('beep', { user: 'machine', chat: 'room', chatType: 'group', isBot: true })
  await gateway.say('hello', { user: 'machine', chat: 'room', chatType: 'group', isBot: true })
  await gateway.waitForReply('answer', 'room')
  assert.deepEqual(gateway.replies('room').map(String), ['answer'])
  await gateway.say('what', { chat: 'mine' })
  await gateway.waitForReply('*(silent)*', 'mine')
})

test('/personality takes effect with the next conversation, after the text of SOUL.md', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      personalities: {
        pirate: 'Speak like a pirate.',
        brief: { system_prompt: 'Be brief.', description: 'few words' },
      },
    },
    prepare: (home) => writeFileSync(home.soulFile, 'You are Kim.'),
  })
  await exchange(gateway, 'one')
  assert.match(await runCommand(gateway, '/personality'), /`pirate`[\s\S]*`brief` — few words/)
  assert.match(await runCommand(gateway, '/personality unknown'), /no such/)
  assert.match(await runCommand(gateway, '/personality Pirate'), /pirate/)
  await exchange(gateway, 'two')
  assert.match(lastSystem(gateway), /^You are Kim\.\n\nYou/)
  assert.doesNotMatch(lastSystem(gateway), /pirate/)
  await runCommand(gateway, '/new')
  await exchange(gateway, 'three')
  assert.match(lastSystem(gateway), /^You are Kim\.\n\nSpeak like a pirate\./)
  await runCommand(gateway, '/personality none')
  await runCommand(gateway, '/new')
  await exchange(gateway, 'four')
  assert.doesNotMatch(lastSystem(gateway), /pirate/)
})

test('a personality with a tone and a style, as Hermes has them, has all three in the prompt', async (t) => {
  const reviewer = { system_prompt: 'You review code.', tone: 'direct', style: 'terse' }
  const gateway = await startTestGateway(t, {
    config: { agent: { personalities: { reviewer } }, display: { personality: 'reviewer' } },
    prepare: (home) => writeFileSync(home.soulFile, 'You are Kim.'),
  })
  await exchange(gateway, 'one')
  assert.match(lastSystem(gateway), /^You are Kim\.\n\nYou review code\.\nTone: direct\nStyle: terse\n/)
})

test('/update and /debug tell an owner what to do, and show no secret', async (t) => {
  const gateway = await startTestGateway(t, { config: { roles: { owners: ['fake:ada'] } } })
  const ada = { user: 'ada', chat: 'ada-dm' }
  assert.match(await runCommand(gateway, '/update', ada), /0\.0\.0-test/)
  const report = await runCommand(gateway, '/debug', ada)
  assert.match(report, /fake: connected[\s\S]*hermes doctor/)
  for (const secret of ['test-key', gateway.platform.token]) assert.ok(!report.includes(secret))
  for (const command of ['/update', '/debug'])
    assert.match(await runCommand(gateway, command, { user: 'bob', chat: 'bob-dm' }), /owners/)
})

test('a personality that only Hermes knows leaves SOUL.md in effect', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { display: { personality: 'kawaii' } },
    prepare: (home) => writeFileSync(home.soulFile, 'You are Kim.'),
  })
  await exchange(gateway, 'one')
  assert.match(lastSystem(gateway), /^You are Kim\./)
  await gateway.waitForLog({ event: 'prompt.personality_unknown', name: 'kawaii' })
})
