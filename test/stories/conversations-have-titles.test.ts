/**
 * A model names a conversation after its second answer, in the background.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'

const titles = { auxiliary: { title_generation: { enabled: true, model: 'namer' } } }

const isTitleRequest = ({ body }: RecordedRequest) => body['model'] === 'namer'

async function startTitled(t: TestContext, title: () => ModelReply, config: Readonly<Record<string, unknown>> = {}) {
  const gateway = await startTestGateway(t, {
    config: { ...titles, ...config },
    model: (request) => (isTitleRequest(request) ? title() : { text: `You said: ${request.lastUserText}` }),
  })
  return {
    gateway,
    async exchange(text: string) {
      await gateway.say(text)
      await gateway.waitForReply(`You said: ${text}`)
    },
    requests: () => gateway.model.requests.filter(isTitleRequest),
  }
}

async function until(condition: () => boolean): Promise<void> {
  const signal = AbortSignal.timeout(waitLimitMs())
  while (!condition()) {
    signal.throwIfAborted()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

function sessions({ home }: TestGateway) {
  const db = new DatabaseSync(home.databaseFile, { readOnly: true })
  try {
    return db
      .prepare('select title, title_tried as tried, input_tokens as tokens from sessions order by created_at')
      .all()
  } finally {
    db.close()
  }
}

const titleOf = (gateway: TestGateway) => sessions(gateway)[0]?.['title']

test('a conversation gets a title from the configured model, once, and its tokens are counted', async (t) => {
  const usage = { input: 40, output: 5 }
  const { gateway, exchange, requests } = await startTitled(t, () => ({
    text: '**Title: "Roses in the garden."**\n',
    usage,
  }))
  await exchange('how do I cut roses?')
  await exchange('and tulips?')
  await until(() => titleOf(gateway) === 'Roses in the garden')
  const [request] = requests()
  assert.match(JSON.stringify(request?.body['messages']), /how do I cut roses\?.*You said: how do I cut roses/s)
  assert.match(JSON.stringify(request?.body['messages']), /and tulips\?/)
  assert.equal(request?.body['tools'], undefined)
  await exchange('and lilies?')
  await gateway.stop()
  await gateway.start()
  await exchange('and oaks?')
  await gateway.stop()
  assert.equal(requests().length, 1)
  const calls = new DatabaseSync(gateway.home.databaseFile, { readOnly: true })
  t.after(() => calls.close())
  const [call] = calls.prepare('select task, model from auxiliary_calls').all()
  assert.deepEqual({ ...call }, { task: 'title_generation', model: 'namer' })
})

test('the answer does not wait for the title, and a stop of the gateway does not either', async (t) => {
  const { gateway, exchange, requests } = await startTitled(t, () => ({ hang: 'headers' }))
  await exchange('one')
  await exchange('two')
  await until(() => requests().length === 1)
  await gateway.stop()
  assert.deepEqual(
    sessions(gateway).map(({ title, tried }) => [title, tried]),
    [['', 1]],
  )
  await gateway.start()
  await exchange('three')
  await gateway.stop()
  assert.equal(requests().length, 1, 'a restart does not ask again')
})

test('the first message of a conversation costs one request, and lists show its words', async (t) => {
  const { gateway, exchange } = await startTitled(t, () => ({ text: 'x' }))
  await exchange('how do I cut roses?')
  await gateway.say('/new')
  await gateway.waitForReply(/conversation/)
  await gateway.say('/sessions')
  await gateway.waitForReply(/1\. how do I cut roses\?/)
  await gateway.stop()
  assert.equal(gateway.model.requests.length, 1)
  assert.deepEqual([titleOf(gateway), sessions(gateway)[0]?.['tried']], ['', 0])
})

test('the name that a person gives stays', async (t) => {
  const named = Promise.withResolvers<void>()
  const { gateway, exchange, requests } = await startTitled(t, () => ({
    text: 'Of the model',
    gate: () => named.promise,
  }))
  await exchange('one')
  await exchange('two')
  await until(() => requests().length === 1)
  await gateway.say('/title Mine')
  await gateway.waitForReply('Mine')
  named.resolve()
  await gateway.stop()
  assert.equal(titleOf(gateway), 'Mine')
})

for (const [what, reply] of [
  ['fails', { error: { status: 500 } }],
  ['answers nothing', { text: '' }],
  ['writes a long text', { text: 'word '.repeat(100) }],
] satisfies [string, ModelReply][])
  test(`a model that ${what} leaves the conversation without a title, and is not asked again`, async (t) => {
    const { gateway, exchange, requests } = await startTitled(t, () => reply)
    await exchange('one')
    await exchange('two')
    await until(() => requests().length === 1)
    await exchange('three')
    await gateway.stop()
    assert.equal(titleOf(gateway), '')
    assert.equal(requests().length, 1)
  })

test('it can be switched off', async (t) => {
  const { gateway, exchange, requests } = await startTitled(t, () => ({ text: 'x' }), {
    auxiliary: { title_generation: { enabled: false, model: 'namer' } },
  })
  await exchange('one')
  await exchange('two')
  await gateway.stop()
  assert.equal(requests().length, 0)
  assert.deepEqual([titleOf(gateway), sessions(gateway)[0]?.['tried']], ['', 0])
})

test('what a title contains cannot look like anything else, and it is listed', async (t) => {
  const secret = 'sk-proj-0123456789abcdef0123456789'
  const { gateway, exchange } = await startTitled(t, () => ({ text: `Roses\u202e ${secret}` }), { api_key: secret })
  await exchange('one')
  await exchange('two')
  await until(() => titleOf(gateway) !== '')
  const title = String(titleOf(gateway))
  assert.ok(!title.includes('\u202e') && !title.includes(secret), title)
  await gateway.say('/new')
  await gateway.waitForReply(/conversation/)
  await gateway.say('/sessions')
  await gateway.waitForReply(/1\. Roses/)
})

test('the offline demonstration, background tasks and programs get no titles', async (t) => {
  const { gateway, requests } = await startTitled(t, () => ({ text: 'x' }))
  await gateway.say('/background look around')
  await gateway.waitForReply('You said: look around')
  for (const content of ['once', 'and again']) {
    const messages = [
      { role: 'user', content: 'before' },
      { role: 'assistant', content: 'yes' },
      { role: 'user', content },
    ]
    const answer = await gateway.post('/v1/chat/completions', { model: 'm', messages })
    assert.equal(answer.status, 200)
  }
  await gateway.stop()
  gateway.configure({ auxiliary: { title_generation: { enabled: true } }, provider: 'demo', base_url: '', model: '' })
  await gateway.start()
  for (const message of ['hello', 'hello again']) {
    await gateway.say(message)
    await gateway.waitForEvent('agent:end', { message })
  }
  await gateway.stop()
  assert.equal(requests().length, 0)
  for (const { title, tried } of sessions(gateway)) assert.deepEqual([title, tried], ['', 0])
})
