/**
 * `agent.system_prompt`, `prefill_messages_file` and `channel_prompts` reach the model with each request, and nothing else: not
 * the transcript, not the frozen prompt, not what plugins observe.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readEphemeralPrompt } from '../../src/flows/models/ephemeral-prompt.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { tempHome } from '../kit/temp-home.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'

const hidden = ['Speak like a pirate.', 'ahoy-example', 'In this room, rhyme.']
const example = (answer: string) =>
  JSON.stringify([
    { role: 'user', content: 'Greet me.' },
    { role: 'assistant', content: answer },
  ])

test('the model reads it with each request, and no plugin and no transcript has it', async (t) => {
  const observer = pluginFiles(
    'observer',
    `const { appendFileSync } = await import('node:fs')
     const note = (value) => appendFileSync(ctx.directory + '/notes', JSON.stringify(value) + '\\n')
     for (const name of ['pre_llm_call', 'pre_api_request', 'post_api_request', 'post_llm_call', 'on_session_end'])
       ctx.registerHook(name, (payload) => { note(payload) })
     ctx.registerMiddleware('llm_request', (payload) => { note(payload); return null })`,
  )
  const gateway = await startTestGateway(t, {
    config: {
      agent: { system_prompt: 'Speak like a pirate.' },
      prefill_messages_file: 'prefill.json',
      platforms: { fake: { channel_prompts: { '1': 'In this room, rhyme.' } } },
      plugins: { enabled: ['observer'] },
    },
    prepare(home) {
      writeFileSync(join(home.root, 'prefill.json'), example('ahoy-example'))
      writeFiles(home.plugins, observer)
    },
  })
  await gateway.say('one', { chat: '1' })
  await gateway.waitForReply('You said: one')
  writeFileSync(join(gateway.home.root, 'prefill.json'), example('another example'))
  await gateway.say('two', { chat: '1' })
  await gateway.waitForReply('You said: two')
  const [first, second] = [await gateway.modelRequest(0), await gateway.modelRequest(1)].map(({ body }) =>
    JSON.stringify(body),
  )
  for (const text of hidden) assert.ok(first?.includes(text), text)
  assert.ok(second?.includes('another example') && !second.includes('ahoy-example'), 'an edit counts for the next turn')
  await gateway.stop()
  const notes = readFileSync(join(gateway.home.plugins, 'observer', 'notes'), 'utf8')
  assert.ok(notes.includes('You said: one'), 'the plugin has observed the turn')
  const database = readFileSync(gateway.home.databaseFile)
  for (const text of hidden) {
    assert.ok(!notes.includes(text), `a plugin has seen: ${text}`)
    assert.ok(!database.includes(text), `stored: ${text}`)
  }
})

const brokenFiles: readonly [what: string, content: string | undefined, expected: RegExp][] = [
  ['that does not exist', undefined, /no such file/],
  ['that is not JSON', '[{', /not JSON/],
  ['that is no list', '{"role": "user"}', /expected a list/],
  ['with an unknown role', '[{"role": "tool", "content": "x"}]', /message 1, role/],
  ['that ends with the user', '[{"role": "user", "content": "x"}]', /take turns/],
  ['in which the user speaks twice', example('x').replace('assistant', 'user'), /take turns/],
]

for (const [what, content, expected] of brokenFiles)
  test(`a file of messages ${what} is left out, and the problem says why`, (t) => {
    const home = tempHome(t)
    if (content !== undefined) writeFileSync(join(home, 'prefill.json'), content)
    const settings = { systemPrompt: 'Be kind.', prefillFile: 'prefill.json', channelPrompts: {}, channelOverrides: {} }
    const directories = { home, userHome: home }
    const { prompt, problem } = readEphemeralPrompt(settings, undefined, directories)
    assert.match(problem, expected)
    assert.deepEqual(prompt, { system: 'Be kind.', prefill: [] }, 'the rest is used')
  })

test('a thread has its own text, or else that of its chat, or else that of the channel above it', (t) => {
  const home = tempHome(t)
  const directories = { home, userHome: home }
  const textFor = (channelPrompts: Readonly<Record<string, string>>) =>
    readEphemeralPrompt(
      { systemPrompt: '', prefillFile: '', channelPrompts, channelOverrides: {} },
      { chatId: 'chat', threadId: 'thread', parentChatId: 'channel' },
      directories,
    ).prompt?.system
  const all = { channel: 'of the channel', chat: 'of the chat', thread: 'of the thread' }
  assert.equal(textFor(all), 'of the thread')
  assert.equal(textFor({ channel: all.channel, chat: all.chat }), 'of the chat')
  assert.equal(textFor({ channel: all.channel }), 'of the channel')
  assert.equal(textFor({ other: 'x' }), undefined)
})
