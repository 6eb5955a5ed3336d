import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { startDaemon } from './daemon.ts'
import { hasResult, rowsIn, terminalCall } from './support.ts'

test('SIGTERM lets the running turn finish and leaves queued messages for the next start', async (t) => {
  const held = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    startNow: false,
    model: ({ lastUserText }) => {
      const text = `the answer to ${lastUserText}`
      return lastUserText === 'first' ? { text, gate: () => held.promise } : { text }
    },
  })
  const daemon = startDaemon(t, gateway.home.root)
  await daemon.ready
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.say('second')
  daemon.signal('SIGTERM')
  await daemon.waitForLog({ event: 'gateway.stopping' })
  held.resolve()
  assert.equal(await daemon.exit(), 0)
  assert.deepEqual(gateway.replies(), ['the answer to first'])

  const next = startDaemon(t, gateway.home.root)
  await gateway.waitForReply('the answer to second')
  next.signal('SIGTERM')
  assert.equal(await next.exit(), 0)
  assert.deepEqual(gateway.replies(), ['the answer to first', 'the answer to second'])
})

test('a turn that exceeds drain_timeout resumes at the next start', async (t) => {
  const gateway = await startTestGateway(t, {
    startNow: false,
    config: { agent: { drain_timeout: 0.1 } },
    replies: [terminalCall('echo once >> effects.log'), { text: 'I was cut off', hang: 'stream', hangAfter: 2 }],
    model: (request) => ({ text: hasResult(request) ? 'It ran once.' : 'I know of no result.' }),
  })
  const daemon = startDaemon(t, gateway.home.root)
  await daemon.ready
  await gateway.say('do it')
  await gateway.modelRequest(1)
  daemon.signal('SIGTERM')
  assert.equal(await daemon.exit(), 0)
  assert.deepEqual(gateway.replies(), [])

  const next = startDaemon(t, gateway.home.root)
  await gateway.waitForReply('It ran once.')
  next.signal('SIGINT')
  assert.equal(await next.exit(), 0)
  assert.deepEqual(gateway.replies(), ['It ran once.'])
  const calls = rowsIn(gateway.home, 'select name, state from tool_calls')
  assert.deepEqual(
    calls.map(({ name, state }) => [name, state]),
    [['terminal', 'done']],
  )
})

test('a second signal ends the process at once, and the turn resumes at the next start', async (t) => {
  const gateway = await startTestGateway(t, {
    startNow: false,
    replies: [{ text: 'never', hang: 'headers' }],
    config: { agent: { drain_timeout: 600 } },
  })
  const daemon = startDaemon(t, gateway.home.root)
  await daemon.ready
  await gateway.say('hello')
  await gateway.modelRequest(0)
  daemon.signal('SIGTERM')
  await daemon.waitForLog({ event: 'gateway.stopping' })
  daemon.signal('SIGTERM')
  assert.equal(await daemon.exit(), 143)

  const next = startDaemon(t, gateway.home.root)
  await gateway.waitForReply('You said: hello')
  next.signal('SIGTERM')
  assert.equal(await next.exit(), 0)
})

test('what arrives while the gateway finishes its turns is stored, and answered at the next start', async (t) => {
  const held = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    config: { display: { busy_ack_enabled: true, busy_input_mode: 'interrupt' }, agent: { drain_timeout: 60 } },
    replies: [{ text: 'done', gate: () => held.promise }],
  })
  await gateway.say('first')
  await gateway.modelRequest(0)
  const stopped = gateway.stop()
  await gateway.waitForLog({ event: 'gateway.stopping' })
  // A platform may deliver them only once: they resolve when they are stored.
  await gateway.say('second')
  await gateway.say('taken back', { id: 'back' })
  await gateway.platform.remove('back')
  await gateway.say('third', { chat: 'other' })
  await gateway.until(({ key }) => key.startsWith('drain:'))
  held.resolve()
  await stopped
  await (await gateway.start()).initialConnectsDone()
  await gateway.waitForReply('You said: second')
  await gateway.waitForReply('You said: third', 'other')
  assert.deepEqual(
    gateway.platform.shown('chat').map(({ key, text }) => (key.startsWith('drain:') ? 'notice' : text)),
    ['notice', 'done', 'You said: second'],
  )
})
