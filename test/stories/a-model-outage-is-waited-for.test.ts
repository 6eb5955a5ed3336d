import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startDaemon } from './daemon.ts'
import { at, hasResult, rowsIn, terminalCall } from './support.ts'

const down: ModelReply = { error: { status: 503 } }
/** Retries for 80 ms, then waits for up to ten minutes. The first pause of the wait takes ten seconds. */
const patient = { agent: { retry_window: 0.08, outage_patience: 600 } }
/** The pauses of the wait begin with 500 ms. */
const impatient = { agent: { retry_window: 0.08, outage_patience: 30 } }

const waitingNotices = (gateway: TestGateway) => gateway.platform.shown().filter(({ text }) => text.startsWith('⏳'))
const waitingTurns = (gateway: TestGateway) =>
  rowsIn(gateway.home, "select id from turns where state = 'running' and outage_since is not null")

test('a message is answered after an outage that lasts longer than the retries, with one notice', async (t) => {
  let isDown = true
  const gateway = await startTestGateway(t, {
    config: impatient,
    model: ({ lastUserText }) => (isDown ? down : { text: `the answer to ${lastUserText}` }),
  })
  await gateway.say('first')
  await gateway.say('second')
  await gateway.waitForLogLine(2, { event: 'turn.postponed' })
  isDown = false
  await gateway.waitForReply('the answer to second')
  const texts = gateway.replies().filter((text) => !text.startsWith('⏳'))
  assert.deepEqual(texts, ['the answer to first', 'the answer to second'])
  assert.equal(gateway.events.filter(({ name }) => name === 'agent:start').length, 2)
  assert.equal(gateway.events.filter(({ name }) => name === 'agent:end').length, 2)
  const [notice, ...more] = waitingNotices(gateway)
  assert.equal(more.length, 0)
  assert.ok(notice?.text.includes(new URL(gateway.model.baseUrl).host), notice?.text)
  assert.equal(rowsIn(gateway.home, 'select seq from inbox where tries + crashes > 0').length, 0)
})

test('a tool call before an outage does not run again after it', async (t) => {
  let isDown = true
  const gateway = await startTestGateway(t, {
    config: impatient,
    replies: [terminalCall('echo once >> effects.log')],
    model: (request) => (isDown ? down : { text: hasResult(request) ? 'It ran once.' : 'I know of no result.' }),
  })
  await gateway.say('do it')
  await gateway.waitForLog({ event: 'turn.postponed' })
  isDown = false
  await gateway.waitForReply('It ran once.')
  const calls = rowsIn(gateway.home, 'select name, state from tool_calls')
  assert.deepEqual(
    calls.map(({ name, state }) => [name, state]),
    [['terminal', 'done']],
  )
})

test('after the patience the message fails with the error of the provider', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { agent: { retry_window: 0.08, outage_patience: 0.6 } },
    model: () => down,
  })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
  assert.match(text, /provider\/overloaded/)
  assert.ok(gateway.log.some((line) => line.includes('"turn.postponed"')))
})

test('/stop ends the wait at once, and the next message is answered', async (t) => {
  const gateway = await startTestGateway(t, { config: patient, model: () => down })
  await gateway.say('first')
  await gateway.waitForLog({ event: 'turn.postponed' })
  gateway.model.setDefault(({ lastUserText }) => ({ text: `the answer to ${lastUserText}` }))
  await gateway.say('second')
  await gateway.say('/stop')
  await gateway.waitForReply('the answer to')
  const turns = rowsIn(gateway.home, 'select state from turns order by started_at')
  assert.deepEqual(
    turns.map(({ state }) => state),
    ['stopped', 'done'],
  )
})

test('the draft of an answer that broke off does not remain when its message is stopped', async (t) => {
  let calls = 0
  const shown = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config: { ...patient, streaming: { edit_interval: 0.005, buffer_threshold: 1 } },
    model: () => {
      calls += 1
      if (calls > 1) return down
      const gate = async (frame: number) => (frame === 5 ? await shown.promise : undefined)
      return { text: 'one two three four five six seven', cutAfter: 6, gate }
    },
  })
  await gateway.say('first')
  await gateway.until(({ text }) => text.endsWith('▉'))
  shown.resolve()
  await gateway.waitForLog({ event: 'turn.postponed' })
  await gateway.say('/stop')
  await gateway.waitForReply('*(stopped)*')
  assert.ok(!gateway.replies().some((text) => text.includes('▉')))
})

test('/new ends the wait at once', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { ...patient, approvals: { destructive_slash_confirm: false } },
    model: () => down,
  })
  await gateway.say('first')
  await gateway.waitForLog({ event: 'turn.postponed' })
  gateway.model.setDefault(({ lastUserText }) => ({ text: `the answer to ${lastUserText}` }))
  await gateway.say('/new')
  await gateway.waitForEvent('session:reset')
  await gateway.say('second')
  await gateway.waitForReply('the answer to second')
  assert.equal(waitingTurns(gateway).length, 0)
})

test('a message that is deleted while it waits is not answered', async (t) => {
  const gateway = await startTestGateway(t, { config: patient, model: () => down })
  await gateway.say('first', { id: 'm1' })
  await gateway.waitForLog({ event: 'turn.postponed' })
  gateway.model.setDefault(({ lastUserText }) => ({ text: `the answer to ${lastUserText}` }))
  await gateway.platform.remove('m1')
  await gateway.waitForLog({ event: 'turn.ended' })
  const turns = rowsIn(gateway.home, 'select state from turns')
  assert.deepEqual(
    turns.map(({ state }) => state),
    ['stopped'],
  )
})

test('a restart and a kill during the wait change nothing', async (t) => {
  let isDown = true
  const gateway = await startTestGateway(t, {
    startNow: false,
    config: { agent: { retry_window: 0.08, outage_patience: 60 } },
    model: ({ lastUserText }) => (isDown ? down : { text: `the answer to ${lastUserText}` }),
  })
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const daemon = startDaemon(t, gateway.home.root)
    await daemon.ready
    if (signal === 'SIGTERM') {
      await gateway.say('hello')
      await daemon.waitForLog({ event: 'turn.postponed' })
    }
    daemon.signal(signal)
    await daemon.exit()
  }
  const unchanged = "select seq from inbox where tries + crashes = 0 and state = 'claimed'"
  assert.equal(rowsIn(gateway.home, unchanged).length, 1)
  isDown = false
  const last = startDaemon(t, gateway.home.root)
  await gateway.waitForReply('the answer to hello')
  assert.equal(waitingNotices(gateway).length, 1)
  last.signal('SIGTERM')
  assert.equal(await last.exit(), 0)
})

test('a wait that the server requests is quoted to the user', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ error: { status: 429, headers: { 'retry-after': '600' } } }],
    config: { agent: { retry_window: 1, outage_patience: 1800 } },
  })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply('⏳')
  assert.match(text, /10 min.*\d\d:\d\d UTC/)
  assert.equal(gateway.model.requestCount, 1)
})

test('a wait that is longer than the patience is quoted in the error', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ error: { status: 429, headers: { 'retry-after': '7200' } } }],
    config: { agent: { retry_window: 1, outage_patience: 1800 } },
  })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply('provider/rate-limit')
  assert.match(text, /2 h/)
})

test('a turn that waits leaves its place to another one', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { agent: { max_concurrent_turns: 1, retry_window: 60 } },
    model: ({ lastUserText }) =>
      lastUserText === 'limited'
        ? { error: { status: 429, headers: { 'retry-after': '50' } } }
        : { text: `the answer to ${lastUserText}` },
  })
  await gateway.say('limited', { chat: 'one' })
  await gateway.waitForLog({ event: 'model.call_retried' })
  await gateway.say('quick', { chat: 'two' })
  await gateway.waitForReply('the answer to quick', 'two')
})

test('a program gets 503 with a time to retry instead of a wait of minutes', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { agent: { retry_window: 0.08 } },
    model: () => down,
  })
  const response = await gateway.post('/v1/chat/completions', {
    model: 'any',
    messages: [{ role: 'user', content: 'hello' }],
  })
  assert.equal(response.status, 503)
  assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
  const body = await response.json()
  assert.equal(at(body, 'error', 'code'), 'provider/overloaded')
  assert.equal(typeof at(body, 'error', 'message'), 'string')
})
