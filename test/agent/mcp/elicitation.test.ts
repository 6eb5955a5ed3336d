/**
 * Questions of MCP servers to the person who waits for a call.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ElicitRequestFormParams, McpServer } from '@modelcontextprotocol/server'
import { contentText } from '../../../src/agent/mcp/result-text.ts'
import type { AskUser, UserQuestion, UserResponse } from '../../../src/agent/tools/clarify.ts'
import { asRecord } from '../../../src/lib/json.ts'
import { connectInProcess, createTestServer, serverSettings } from './support.ts'

const { signal } = new AbortController()

type Form = ElicitRequestFormParams['requestedSchema']

const order: Form = {
  type: 'object',
  properties: {
    size: { type: 'string', title: 'Size', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
    count: { type: 'integer', description: 'How many?' },
    gift: { type: 'boolean' },
    note: { type: 'string' },
  },
  required: ['size', 'count', 'gift'],
}

/** A server whose tool `order` asks the person, and tells what it was answered. */
function createOrderServer(requestedSchema: Form): McpServer {
  const server = createTestServer()
  server.registerTool('order', { description: 'Order' }, async () => {
    const answer = await server.server.elicitInput({ message: 'What do you\u{E0049} want?', requestedSchema })
    return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
  })
  return server
}

/** @param answers of the person; without them, no one waits */
function open(
  t: TestContext,
  answers?: readonly (string | readonly string[] | UserResponse['kind'])[],
  { form = order, settings = serverSettings() }: { form?: Form; settings?: ReturnType<typeof serverSettings> } = {},
) {
  const { connection } = connectInProcess(() => createOrderServer(form), { settings })
  t.after(() => connection.close())
  const questions: UserQuestion[] = []
  const left = [...(answers ?? [])]
  const askUser: AskUser = async (question) => {
    questions.push(question)
    const next = left.shift()
    if (next === 'unanswered' || next === 'unattended') return { kind: next }
    return { kind: 'answered', response: next ?? '' }
  }
  const call = async (ask = answers === undefined ? undefined : askUser): Promise<unknown> => {
    const result = await connection.request({ method: 'tools/call', params: { name: 'order' } }, signal, ask)
    return JSON.parse(contentText(asRecord(result)['content']))
  }
  return { connection, questions, call }
}

test('a server gets what the person answers, field by field, in the types of its form', async (t) => {
  const { questions, call } = open(t, ['Large', '3', 'No', 'with a ribbon'])
  const content = { size: 'l', count: 3, gift: false, note: 'with a ribbon' }
  assert.deepEqual(await call(), { action: 'accept', content })
  assert.deepEqual(
    questions.map(({ choices }) => choices),
    [['Small', 'Large', 'Decline'], ['Decline'], ['Yes', 'No', 'Decline'], ['Skip', 'Decline']],
  )
  for (const { question } of questions) assert.match(question, /MCP server test asks: What do you want\?/)
})

test('a field that is not required can be left out', async (t) => {
  const { call } = open(t, ['Small', '1', 'Yes', 'Skip'])
  assert.deepEqual(await call(), { action: 'accept', content: { size: 's', count: 1, gift: true } })
})

test('a person who declines, or does not answer, gives the server nothing', async (t) => {
  assert.deepEqual(await open(t, ['Large', 'Decline']).call(), { action: 'decline' })
  assert.deepEqual(await open(t, ['Large', 'unanswered']).call(), { action: 'cancel' })
  assert.deepEqual(await open(t, ['unattended']).call(), { action: 'decline' })
  assert.deepEqual(await open(t).call(), { action: 'decline' })
})

test('an answer that cannot be used is asked for once more', async (t) => {
  const again = open(t, ['Large', 'three', '3', 'Yes', 'Skip'])
  assert.deepEqual(await again.call(), { action: 'accept', content: { size: 'l', count: 3, gift: true } })
  assert.deepEqual(await open(t, ['Large', 'three', 'four']).call(), { action: 'decline' })
})

test('a question without a form is accepted or declined, and one with too many fields is declined', async (t) => {
  const plain: Form = { type: 'object', properties: {} }
  assert.deepEqual(await open(t, ['Accept'], { form: plain }).call(), { action: 'accept', content: {} })
  assert.deepEqual(await open(t, ['What?'], { form: plain }).call(), { action: 'decline' })
  const names = Array.from({ length: 30 }, (_, index) => `f${index}`)
  const long: Form = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) }
  const { questions, call } = open(t, [], { form: long })
  assert.deepEqual(await call(), { action: 'decline' })
  assert.deepEqual(questions, [])
})

test('a server that asks during calls of two persons asks neither', async (t) => {
  const { connection, questions, call } = open(t, ['Large'])
  const stop = new AbortController()
  const other = connection.request({ method: 'tools/call', params: { name: 'wait' } }, stop.signal)
  other.catch(() => undefined)
  assert.deepEqual(await call(), { action: 'decline' })
  assert.deepEqual(questions, [])
  stop.abort(new Error('enough'))
  await assert.rejects(other)
})

test('the time in which a person thinks does not count for the call', async (t) => {
  const form: Form = { type: 'object', properties: {} }
  const { call } = open(t, [], { form, settings: serverSettings({ timeout: 2 }) })
  const slow: AskUser = async () => {
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    return { kind: 'answered', response: 'Accept' }
  }
  assert.deepEqual(await call(slow), { action: 'accept', content: {} })
})

test('a server that may not ask does not', async (t) => {
  const { call, questions } = open(t, ['Large'], { settings: serverSettings({ elicitation: { enabled: false } }) })
  await assert.rejects(call())
  assert.deepEqual(questions, [])
})
