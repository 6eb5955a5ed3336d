/**
 * The agent asks its user with `clarify` and continues with the answer.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { at, hasResult, rowsIn, waitForQuestion } from './support.ts'

const buttons = { capabilities: ['edit', 'buttons'] } as const
const choices = ['red', 'green', 'blue']

/** A model that asks, with the arguments that its user wrote, and repeats the result. */
function ask(request: RecordedRequest): ModelReply {
  const messages = request.body['messages']
  const last = Array.isArray(messages) ? String(messages.at(-1)?.content) : ''
  if (hasResult(request)) return { text: `It gave: ${last}` }
  if (!last.startsWith('{')) return { text: `You said: ${last}` }
  return { toolCalls: [{ name: 'clarify', arguments: JSON.parse(last) }] }
}

async function askingGateway(t: TestContext, options: TestGatewayOptions = {}) {
  const gateway = await startTestGateway(t, { model: ask, ...options })
  return {
    gateway,
    asks: (question: object) => gateway.say(JSON.stringify(question)),
    /** The JSON result of the tool, as the model repeats it. */
    async result(): Promise<unknown> {
      const { text } = await gateway.until(({ text }) => text.startsWith('It gave: '))
      return JSON.parse(text.slice('It gave: '.length))
    },
  }
}

test('a pressed choice is the answer, and one more choice is always offered', async (t) => {
  const { gateway, asks, result } = await askingGateway(t, buttons)
  await asks({ question: 'Which colour?', choices })
  const question = await waitForQuestion(gateway)
  assert.match(question.text, /Which colour\?[\s\S]*1\. red\n2\. green\n3\. blue/)
  assert.equal((await gateway.platform.press(question, 'Other')).status, 'taken')
  assert.equal(rowsIn(gateway.home, 'select state from questions')[0]?.['state'], 'waiting')
  await gateway.platform.press(question, 'green')
  assert.deepEqual(await result(), { question: 'Which colour?', choices_offered: choices, user_response: 'green' })
})

test('a message answers where a question is open, by number or in own words', async (t) => {
  for (const [asked, said, response] of [
    [{ question: 'Which?', choices }, '3', 'blue'],
    [{ question: 'Which?', choices }, 'a dark violet', 'a dark violet'],
    [{ question: 'Which?', choices, multi_select: true }, '1, 3', ['red', 'blue']],
    [{ question: 'Why?' }, 'because', 'because'],
  ] as const) {
    const { gateway, asks, result } = await askingGateway(t)
    await asks(asked)
    await waitForQuestion(gateway)
    await gateway.say(said)
    assert.deepEqual(at(await result(), 'user_response'), response)
    assert.ok(!gateway.replies().some((text) => text.startsWith('You said')), 'the answer is no message of its own')
    await gateway.stop()
  }
})

test('a question survives a restart and is asked once', async (t) => {
  const { gateway, asks, result } = await askingGateway(t, buttons)
  await asks({ question: 'Which colour?', choices })
  const question = await waitForQuestion(gateway)
  await gateway.stop()
  const waits = Promise.withResolvers<void>()
  await gateway.start({ failpoint: (point) => point === 'clarify:waiting' && waits.resolve() })
  await waits.promise
  assert.deepEqual(rowsIn(gateway.home, 'select tries, crashes from inbox where tries + crashes > 1'), [])
  await gateway.platform.press(question, 'red')
  assert.equal(at(await result(), 'user_response'), 'red')
  assert.equal(rowsIn(gateway.home, 'select id from questions').length, 1)
})

test('an unanswered question is no failure, and a stop cancels it', async (t) => {
  const { asks, result } = await askingGateway(t, { config: { approvals: { timeout: 0.05 } } })
  await asks({ question: 'Which colour?', choices })
  assert.equal(at(await result(), 'user_response'), null)
  const patient = await askingGateway(t, buttons)
  await patient.asks({ question: 'Which colour?', choices })
  await waitForQuestion(patient.gateway)
  await patient.gateway.say('/stop')
  await patient.gateway.until(({ text }) => text.includes('Cancelled'))
  await patient.gateway.say('next')
  await patient.gateway.waitForReply(/You said: next/)
})

test('programs are neither offered nor permitted to ask', async (t) => {
  const { gateway } = await askingGateway(t, { config: { platforms: { api_server: { enabled: true } } } })
  const answer = await gateway.post('/v1/chat/completions', {
    model: 'any',
    messages: [{ role: 'user', content: '{"question":"Which colour?"}' }],
  })
  assert.match(await answer.text(), /It gave: .*error/)
  assert.equal(rowsIn(gateway.home, 'select id from questions').length, 0)
  const offered = gateway.model.requests.map(({ body }) => JSON.stringify(body['tools']).includes('"clarify"'))
  assert.ok(offered.every((isOffered) => !isOffered))
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.ok(JSON.stringify(gateway.model.requests.at(-1)?.body['tools']).includes('"clarify"'))
})
