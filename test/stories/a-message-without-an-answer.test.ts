import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, conversation, rowsIn, terminalCall, waitForCommandReply } from './support.ts'

const streaming = { streaming: { buffer_threshold: 4, edit_interval: 0 } }

test('after /stop the model receives the question, the partial answer and a note, not a question to answer again', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['edit'],
    config: streaming,
    replies: [{ text: 'one two three four', hang: 'stream', hangAfter: 3 }],
  })
  await gateway.say('tell me a long story')
  await gateway.until(({ kind, text }) => kind === 'draft' && text.startsWith('one'))
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.say('what is the time?')
  const [, partial = '', ...rest] = conversation(await gateway.modelRequest(1))
  assert.match(partial, /^assistant: one.*\n\n\[stopped by the user\]$/s)
  assert.deepEqual(rest, ['user: what is the time?'])
})

test('a turn that is stopped before its answer begins stays in the conversation with a note', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ hang: 'headers' }] })
  await gateway.say('tell me a long story')
  await gateway.modelRequest(0)
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.say('what is the time?')
  assert.deepEqual(conversation(await gateway.modelRequest(1)), [
    'user: tell me a long story',
    'assistant: [stopped by the user]',
    'user: what is the time?',
  ])
})

test('a turn that is stopped while a tool runs ends with the result of the tool and a note', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ ...terminalCall('sleep 60'), text: 'I wait a minute.' }] })
  await gateway.say('wait')
  await gateway.until(({ text }) => text === 'I wait a minute.')
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.say('and now?')
  const roles = conversation(await gateway.modelRequest(1)).map((line) => line.split(':', 1)[0])
  assert.deepEqual(roles, ['user', 'assistant', 'tool', 'assistant', 'user'])
})

const rejections: readonly { what: string; reply: ModelReply; code: string }[] = [
  {
    what: 'an invalid message (400)',
    reply: { error: { status: 400, body: { error: { message: 'invalid content', type: 'invalid_request_error' } } } },
    code: 'provider/invalid-request',
  },
  {
    what: 'an invalid message (422)',
    reply: { error: { status: 422, body: { detail: 'invalid content' } } },
    code: 'provider/invalid-request',
  },
  {
    what: 'a message against the content policy',
    reply: { error: { status: 400, body: { error: { message: 'filtered', code: 'content_filter' } } } },
    code: 'provider/content-filter',
  },
  {
    what: 'a message whose answer the content filter removes',
    reply: { text: '', finishReason: 'content_filter' },
    code: 'provider/content-filter',
  },
]

for (const { what, reply, code } of rejections) {
  test(`${what} leaves the conversation, so that the next message is answered`, async (t) => {
    const gateway = await startTestGateway(t, { replies: [{ text: 'Hello.' }, reply] })
    await gateway.say('hello')
    await gateway.waitForReply('Hello.')
    await gateway.say('poison')
    const { text } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
    assert.ok(text.includes(`(${code})`), text)
    await gateway.say('still there?')
    await gateway.waitForReply('You said: still there?')
    assert.deepEqual(conversation(await gateway.modelRequest(2)), [
      'user: hello',
      'assistant: Hello.',
      'user: still there?',
    ])
    const [stored] = rowsIn(gateway.home, "select superseded from messages where content = 'poison'")
    assert.equal(stored?.['superseded'], -1)
  })
}

test('a message that fails because of the configuration stays in the conversation, with a note that it has no answer', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ error: { status: 401 } }, { error: { status: 401 } }] })
  for (const text of ['first question', 'second question']) {
    const answered = gateway.replies().length
    await gateway.say(text)
    await gateway.until(() => gateway.replies().length > answered)
  }
  await gateway.say('third question')
  const note = 'assistant: [no answer: the turn failed, and the user was told]'
  assert.deepEqual(conversation(await gateway.modelRequest(2)), [
    'user: first question',
    note,
    'user: second question',
    note,
    'user: third question',
  ])
})

for (const finishReason of ['length', 'content_filter']) {
  test(`an answer that ends with ${finishReason} is shown as cut off, to people and to programs`, async (t) => {
    const reply = { text: 'The three reasons are: first', finishReason }
    const gateway = await startTestGateway(t, { replies: [reply, reply] })
    await gateway.say('why?')
    const { text } = await gateway.until((sent) => sent.text.startsWith(reply.text))
    assert.match(text, /\(cut off/)
    const messages = [{ role: 'user', content: 'why?' }]
    const answer: unknown = await (await gateway.post('/v1/chat/completions', { messages })).json()
    assert.equal(at(answer, 'choices', 0, 'finish_reason'), finishReason)
    assert.equal(at(answer, 'choices', 0, 'message', 'content'), reply.text)
    const stored = rowsIn(gateway.home, "select content from messages where role = 'assistant'")
    assert.deepEqual(new Set(stored.map((row) => row['content'])), new Set([reply.text]))
  })
}
