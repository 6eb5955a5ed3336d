/**
 * Hooks in a complete gateway: they send messages, do not delay conversations, and run at the shutdown.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { HomeLayout } from '../../src/lib/home.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { waitForCommandReply } from './support.ts'

function hook(home: HomeLayout, name: string, events: string, body: string): void {
  const folder = join(home.hooks, name)
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  writeFileSync(join(folder, 'HOOK.yaml'), `events: ${events}\n`)
  writeFileSync(
    join(folder, 'handler.js'),
    `import { appendFileSync } from 'node:fs'\nexport const handle = async (event, context, { gateway }) => {\n${body}\n}\n`,
  )
}

test('a hook sends to the home channel, a chat and a thread; an invalid target is an error', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { platforms: { fake: { home_channel: 'home' } } },
    prepare: (home) =>
      hook(
        home,
        'herald',
        '[agent:start]',
        `await gateway.send('fake', 'to the home channel')
         await gateway.send('FAKE:Chat-7:t1', 'to a thread')
         for (const target of ['nowhere', 'cli', 'fake::x'])
           await gateway.send(target, 'x').catch((error) => gateway.send('fake:errors', error.code + ' ' + error.message))`,
      ),
  })
  await gateway.say('hello')
  await gateway.waitForReply('to the home channel', 'home')
  await gateway.waitForReply('to a thread', 'Chat-7')
  await gateway.waitForReply(/hooks\/no-target.*nowhere/, 'errors')
  await gateway.waitForReply(/hooks\/no-target.*\bcli\b/, 'errors')
  await gateway.waitForReply(/hooks\/no-target.*fake:<chat_id>/, 'errors')
  await gateway.waitForReply('You said: hello')
})

test('a message of a hook cannot attach files', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['files'],
    prepare: (home) => hook(home, 'parrot', '[agent:start]', `await gateway.send('fake:there', context.message)`),
  })
  const words = `MEDIA:${gateway.home.configFile}`
  await gateway.say(words)
  await gateway.waitForReply(words, 'there')
})

test('a hook for message:sent is not called for its own messages', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare: (home) =>
      hook(home, 'echo', '[message:sent]', `await gateway.send('fake:there', 'seen: ' + context.message)`),
  })
  await gateway.say('hello')
  await gateway.waitForReply('seen: You said: hello', 'there')
  await gateway.say('again')
  await gateway.waitForReply('seen: You said: again', 'there')
  assert.equal(gateway.replies('there').length, 2)
})

test('a hook that hangs does not delay replies, and delays the shutdown only up to its timeout', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { agent: { drain_timeout: 0.5 } },
    prepare: (home) => hook(home, 'stuck', '[agent:start, gateway:shutdown]', 'await new Promise(() => undefined)'),
  })
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  await gateway.stop()
})

test('hooks receive the last events of a shutdown, and their messages are delivered', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare(home) {
      hook(home, 'farewell', '[gateway:shutdown]', `await gateway.send('fake:there', 'good night')`)
      hook(home, 'writer', '[session:end, gateway:shutdown]', `appendFileSync('events.txt', event + '\\n')`)
    },
  })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  await gateway.say('/new')
  await waitForCommandReply(gateway)
  await gateway.stop()
  assert.deepEqual(gateway.replies('there'), ['good night'])
  assert.equal(readFileSync(join(gateway.home.root, 'events.txt'), 'utf8'), 'session:end\ngateway:shutdown\n')
})

test('the gateway starts with an invalid hook', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare(home) {
      hook(home, 'broken', '[', 'return')
      hook(home, 'works', '[agent:end]', `await gateway.send('fake:there', 'works')`)
      writeFileSync(join(home.hooks, '.state.json'), 'no JSON')
    },
  })
  await gateway.waitForLog({ event: 'hook.discovery_warning', reason: /broken\/HOOK\.yaml:\d+:\d+/ })
  await gateway.say('hello')
  await gateway.waitForReply('works', 'there')
})

test('a gateway that is embedded in the terminal loads no hook folders', async (t) => {
  const gateway = await startTestGateway(t, {
    gateway: { onlyPlatforms: ['fake'] },
    prepare: (home) => hook(home, 'any', '[agent:end]', `await gateway.send('fake:there', 'heard')`),
  })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.doesNotMatch(await (await gateway.http('/api/hooks')).text(), /"any"/)
  assert.deepEqual(gateway.replies('there'), [])
})
