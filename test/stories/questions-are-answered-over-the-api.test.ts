/**
 * A program with the token of the gateway answers the questions of every chat, in the way of a button or of `/approve`.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pendingResponse } from '../../src/api/shapes/approvals.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, hasResult, terminalCall, waitForQuestion } from './support.ts'

type Capabilities = NonNullable<Parameters<typeof startTestGateway>[1]>['capabilities']

async function askingForRemoval(t: TestContext, capabilities: Capabilities = []) {
  let folder = ''
  const gateway = await startTestGateway(t, {
    model: (request) => (hasResult(request) ? { text: 'Finished.' } : terminalCall(`rm -r '${folder}'`)),
    capabilities,
    prepare(home) {
      folder = join(home.root, 'work', 'a')
      mkdirSync(folder, { recursive: true })
    },
  })
  await gateway.say('tidy up')
  const question = await openQuestion(gateway)
  return { gateway, folder, question }
}

async function openQuestion(gateway: TestGateway): Promise<unknown> {
  await waitForQuestion(gateway)
  const pending = await gateway.http('/api/approvals/pending?platform=fake')
  const body: unknown = await pending.json()
  assert.deepEqual(pendingResponse.parse(body), body, 'nothing more than the document shows')
  return at(body, 'questions', 0)
}

async function decide(gateway: TestGateway, body: unknown): Promise<{ status: number; body: unknown }> {
  const answer = await gateway.post('/api/approvals/decide', body)
  return { status: answer.status, body: await answer.json() }
}

const codeOf = ({ status, body }: { status: number; body: unknown }) => [status, at(body, 'error', 'code')]

test('the first answer counts, the same one again changes nothing, and the chat is told', async (t) => {
  const { gateway, folder, question } = await askingForRemoval(t)
  assert.deepEqual(
    ['kind', 'platform', 'chat_id', 'accepts_text'].map((key) => at(question, key)),
    ['approval', 'fake', 'chat', false],
  )
  assert.match(String(at(question, 'command')), /rm -r/)
  const id = at(question, 'id')
  assert.deepEqual(codeOf(await decide(gateway, { id, answer: 'perhaps' })), [400, 'http/bad-request'])
  assert.equal(existsSync(folder), true)

  const [first, second] = await Promise.all([
    decide(gateway, { id, answer: 'once' }),
    decide(gateway, { id, answer: 'once' }),
  ])
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.deepEqual([at(first.body, 'changed'), at(second.body, 'changed')].sort(), [false, true])
  assert.deepEqual(codeOf(await decide(gateway, { id, answer: 'deny' })), [409, 'approvals/answered'])
  await gateway.waitForReply('Finished.')
  assert.equal(existsSync(folder), false)
  await gateway.waitForReply(/owner \(API\)/)
  const pending = await (await gateway.http('/api/approvals/pending')).json()
  assert.deepEqual(at(pending, 'questions'), [])
  assert.deepEqual(codeOf(await decide(gateway, { id: 'no-such', answer: 'once' })), [404, 'approvals/not-found'])
})

test('buttons are removed when a program refuses, with its reason', async (t) => {
  const { gateway, folder, question } = await askingForRemoval(t, ['buttons', 'edit'])
  const decided = await decide(gateway, { id: at(question, 'id'), answer: 'deny', text: 'not *today*' })
  assert.equal(decided.status, 200)
  const closed = await gateway.until(({ text }) => text.includes('owner (API)'))
  assert.match(closed.text, /`not \*today\*`/)
  await gateway.waitForReply('Finished.')
  assert.equal(existsSync(folder), true)
})

test('a question whose turn was stopped is gone, not answered', async (t) => {
  const { gateway, question } = await askingForRemoval(t)
  await gateway.say('/stop')
  await gateway.waitForEvent('approval:resolved', { outcome: 'cancelled' })
  assert.deepEqual(codeOf(await decide(gateway, { id: at(question, 'id'), answer: 'once' })), [
    410,
    'approvals/expired',
  ])
})

test('a question of the agent takes a choice or a text', async (t) => {
  const asking = { question: 'Which colour?', choices: ['red', 'blue'] }
  const gateway = await startTestGateway(t, {
    model: (request) =>
      hasResult(request) ? { text: 'Thanks.' } : { toolCalls: [{ name: 'clarify', arguments: asking }] },
  })
  await gateway.say('paint it')
  const question = await openQuestion(gateway)
  assert.deepEqual([at(question, 'kind'), at(question, 'accepts_text')], ['clarify', true])
  assert.deepEqual(at(question, 'choices', 1), { answer: 'choice-1', label: 'blue' })
  const decided = await decide(gateway, { id: at(question, 'id'), text: 'rather green' })
  assert.equal(at(decided.body, 'answer'), 'other')
  await gateway.waitForReply('Thanks.')
  const sent = JSON.stringify((await gateway.modelRequest(1)).body)
  assert.match(sent, /rather green/)
})
