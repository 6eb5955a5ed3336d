/**
 * A chat shows which tools run, in a message of its own, and the answer is as it would be without it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startTestGateway } from '../kit/start-gateway.ts'
import { createHeldCommand, hasResult, rowsIn, runCommand, terminalCall } from './support.ts'

const display = { tool_progress: 'all' }

test('the tools of a turn are shown between its texts, and each keeps its result', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config: { display },
  })
  const held = createHeldCommand(gateway.home)
  gateway.model.enqueue({ ...terminalCall(held.command), text: 'I look first.' }, { text: 'All is well.' })
  await gateway.say('check')
  await gateway.until(({ text }) => text.startsWith('⏳ **terminal**'))
  await held.release()
  await gateway.until(({ text }) => text === 'All is well.')
  await gateway.until(({ text }) => text.startsWith('✓ **terminal**'))
  const [first, tools, last] = gateway.replies()
  assert.deepEqual([first, last], ['I look first.', 'All is well.'])
  assert.match(tools ?? '', /cat/)
  await gateway.waitForEvent('agent:end')
})

test('a platform can be left out', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config: { display: { ...display, platforms: { fake: { tool_progress: 'off' } } } },
  })
  const held = createHeldCommand(gateway.home)
  gateway.model.enqueue(terminalCall(held.command), { text: 'All is well.' })
  await gateway.say('check')
  await gateway.modelRequest(0)
  // More than the time after which a tool is shown elsewhere.
  await pause(900)
  await held.release()
  await gateway.until(({ text }) => text === 'All is well.')
  assert.deepEqual(gateway.replies(), ['All is well.'])
})

test('/verbose changes what a conversation shows of its tools, if the operator permits it', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config: { display: { tool_progress: 'off', tool_progress_command: true } },
  })
  const held = createHeldCommand(gateway.home)
  gateway.model.enqueue(terminalCall(held.command), { text: 'All is well.' })
  for (const mode of ['new', 'all', 'verbose', 'off', 'new'])
    assert.match(await runCommand(gateway, '/verbose'), new RegExp(`\\*\\*${mode}\\*\\*`))
  await gateway.say('check')
  await gateway.until(({ text }) => text === '⏳ **terminal**')
  await held.release()
  await gateway.until(({ text }) => text === '✓ **terminal**')
})

test('/footer adds a line about the turn below the answers of a conversation', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'Plain.' }, { text: 'With a line.' }] })
  await gateway.say('one')
  await gateway.waitForReply('Plain.')
  await runCommand(gateway, '/footer on')
  await gateway.say('two')
  const { text } = await gateway.waitForReply('With a line.')
  assert.match(text, /^With a line\.\n\n\*test-model · [\d,]+ \+ [\d,]+ tokens · .+ s · \d+ % of the context\*$/)
  const { context } = await gateway.waitForEvent('agent:end', { response: 'With a line.' })
  assert.equal(context['response_full'], 'With a line.')
  await runCommand(gateway, '/footer')
  assert.match(await runCommand(gateway, '/footer status'), /off/)
})

test('a page learns that it shows no line below the answers', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.post('/web/messages', { chat: 'main', id: 'message-1', text: '/footer on' })
  await gateway.waitForLog({ event: 'outbox.delivered' })
  const [reply] = rowsIn(gateway.home, "select text from outbox where platform = 'web'")
  assert.match(String(reply?.['text']), /\/usage/)
  assert.deepEqual(rowsIn(gateway.home, 'select * from session_settings'), [])
})

test('after a restart no message says that a tool still runs', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit', 'remove'],
    config: { display },
    model: (request) => (hasResult(request) ? { text: 'All is well.' } : terminalCall('sleep 60')),
  })
  await gateway.say('check')
  await gateway.until(({ text }) => text.startsWith('⏳'))
  await gateway.stop(AbortSignal.abort())
  await gateway.start()
  await gateway.until(({ text }) => text === 'All is well.')
  // The address is forgotten last.
  for (let looks = 0; looks < 200 && rowsIn(gateway.home, 'select * from drafts').length > 0; looks += 1)
    await pause(50)
  assert.deepEqual(rowsIn(gateway.home, 'select * from drafts'), [])
  assert.deepEqual(gateway.replies(), ['All is well.'])
})
