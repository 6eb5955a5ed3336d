import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { conversation } from './support.ts'

test('an API key in the configuration is redacted in tool results', async (t) => {
  const key = 'canary-b7c1e0aa91f24d'
  const gateway = await startTestGateway(t, {
    config: { api_key: key },
    replies: [
      { toolCalls: [{ name: 'read_file', arguments: { path: 'config.yaml' } }] },
      { toolCalls: [{ name: 'terminal', arguments: { command: 'sed -n 1,20p config.yaml' } }] },
      { text: 'I have read it.' },
    ],
  })
  await gateway.say('show me your configuration')
  await gateway.waitForReply('I have read it.')
  const lines = conversation(gateway.model.requests[2])
  assert.match(lines.join('\n'), /\[redacted\]/)
  assert.doesNotMatch(JSON.stringify(gateway.model.requests.map(({ body }) => body)), new RegExp(key))
})

test('the reasoning of a model is neither shown nor stored', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config: { streaming: { buffer_threshold: 1, edit_interval: 0 } },
    replies: [{ text: '<think>\nI wonder about this.\n</think>\n\nHere you are.' }, { text: 'And again.' }],
  })
  await gateway.say('one')
  await gateway.waitForReply('Here you are.')
  await gateway.say('two')
  await gateway.waitForReply('And again.')
  for (const { versions } of gateway.platform.shown())
    for (const version of versions) assert.doesNotMatch(version, /wonder|<th/)
  assert.doesNotMatch(conversation(gateway.model.requests[1]).join('\n'), /wonder/)
})

test('agent.max_turns, the older key, limits the iterations of a turn', async (t) => {
  const again = { toolCalls: [{ name: 'terminal', arguments: { command: 'true' } }] }
  const gateway = await startTestGateway(t, {
    config: { agent: { max_turns: 2 } },
    replies: [again, again, { text: 'That is all.' }],
  })
  await gateway.say('work')
  await gateway.waitForReply('That is all.')
  assert.equal(gateway.model.requests.length, 3)
})

test('with streaming.mode off a reply is sent once, when it is complete', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config: { streaming: { mode: 'off', buffer_threshold: 1, edit_interval: 0 } },
    replies: [{ text: 'A whole answer at once.' }],
  })
  await gateway.say('go')
  await gateway.waitForReply('A whole answer at once.')
  assert.deepEqual(
    gateway.platform.shown().map(({ versions }) => versions),
    [['A whole answer at once.']],
  )
})

test('a value of .env under any name leaves neither in a stream nor in a reply, and the status says so', async (t) => {
  const value = 'blue-elephant-4711-canary'
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config: { streaming: { buffer_threshold: 1, edit_interval: 0 } },
    prepare: ({ envFile }) => writeFileSync(envFile, `HARMLESS=${value}\n`, { mode: 0o600 }),
    replies: [{ text: `Here it is: ${value}, and reversed: ${[...value].reverse().join('')}.` }],
  })
  await gateway.say('what is HARMLESS?')
  const withheld = '[withheld: a secret of this gateway]'
  await gateway.waitForReply(`Here it is: ${withheld}, and reversed: ${withheld}.`)
  for (const { versions } of gateway.platform.shown())
    for (const version of versions) assert.doesNotMatch(version, /elep|yrana/)
  await gateway.waitForLog({ event: 'outbox.secret_withheld', level: 'warn' })
  assert.doesNotMatch(gateway.log.join(''), /elephant/)
  assert.match(await (await gateway.http('/api/status')).text(), /outbox\.secret_withheld/)
})
