import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDemoProvider } from '../../../../src/agent/models/demo/demo-provider.ts'
import type { ChatMessage } from '../../../../src/message/transcript.ts'
import { collected, runCall } from '../../../kit/contracts/provider-run.ts'

const provider = createDemoProvider()

async function ask(messages: readonly ChatMessage[], toolNames: readonly string[] = []) {
  const tools = toolNames.map((name) => ({ name, description: '', parameters: { type: 'object' } }))
  return (await runCall(provider, provider.buildRequest({ model: '', system: 'Be brief.', messages, tools }))).output
}

const user = (content: string): ChatMessage => ({ role: 'user', content })
const later: ChatMessage[] = [user('Hello'), { role: 'assistant', content: 'Hello!' }]

test('only the first reply explains the demonstration and how to connect a model', async () => {
  const first = await ask([user('Hello')])
  for (const part of ['config.yaml', 'provider:', 'model:', '.env', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY']) {
    assert.ok(first.text.includes(part), part)
  }
  assert.ok(!(await ask([...later, user('What a nice day')])).text.includes('config.yaml'))
})

test('"Reply exactly ok" is answered with ok and nothing else, also as the first message', async () => {
  assert.equal((await ask([user('Reply exactly ok')])).text, 'ok')
  assert.equal((await ask([user('reply exactly: two words')])).text, 'two words')
  assert.equal((await ask([user('Hello'), user('Reply exactly line one\nline two')])).text, 'line one\nline two')
})

test('an exact reply keeps its whitespace and all characters', async () => {
  const text = 'a  b\n\n\tc — 😀   d'
  assert.equal((await ask([user(`Reply exactly ${text}`)])).text, text)
})

test('the reply repeats the message', async () => {
  assert.match((await ask([...later, user('The moon is bright')])).text, /\b4\b[\s\S]*> The moon is bright/)
})

test('the same conversation gets the same reply', async () => {
  const messages = [...later, user('The moon is bright')]
  assert.deepEqual(await ask(messages, ['terminal']), await ask(messages, ['terminal']))
})

test('asked for files, it calls a read-only tool and summarises the result', async () => {
  const asked = [...later, user('Please list the files')]
  const answer = await ask(asked, ['terminal', 'read_file'])
  assert.deepEqual(
    answer.toolCalls.map((call) => [call.name, call.arguments]),
    [['terminal', '{"command":"ls -A"}']],
  )
  assert.equal(answer.finishReason, 'tool_calls')
  const call = answer.toolCalls[0]
  assert.ok(call !== undefined)
  const history: ChatMessage[] = [
    ...asked,
    { role: 'assistant', content: answer.text, toolCalls: answer.toolCalls },
    { role: 'tool', toolCallId: call.id, name: 'terminal', content: '{"output":"README.md\\nsrc\\n","exit_code":0}' },
  ]
  const summary = await ask(history, ['terminal'])
  assert.match(summary.text, /\b2\b[\s\S]*README\.md\nsrc/)
  assert.deepEqual(summary.toolCalls, [])
})

test('without a terminal it uses another tool, or reports that none is available', async () => {
  const asked = [...later, user('show me a tool')]
  assert.equal((await ask(asked, ['search_files', 'read_file'])).toolCalls[0]?.name, 'search_files')
  assert.equal((await ask(asked, ['read_file'])).toolCalls[0]?.name, 'read_file')
  const without = await ask(asked)
  assert.deepEqual(without.toolCalls, [])
  assert.notEqual(without.text, '')
})

test('the error of a failed tool is part of the reply', async () => {
  const history: ChatMessage[] = [
    ...later,
    user('files'),
    { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'terminal', arguments: '{}' }] },
    { role: 'tool', toolCallId: 'c', name: 'terminal', content: '{"error":"not allowed"}' },
  ]
  assert.match((await ask(history)).text, /not allowed/)
})

test('it delays each chunk, and limits the number of chunks of a long reply', async () => {
  const pauses: number[] = []
  const slow = createDemoProvider(async (ms) => {
    pauses.push(ms)
  })
  const request = (text: string) =>
    slow.buildRequest({ model: '', system: '', messages: [...later, user(text)], tools: [] })
  await runCall(slow, request('Reply exactly one two three'))
  assert.ok(pauses.length >= 3 && pauses.every((ms) => ms > 0 && ms < 100))
  pauses.length = 0
  const long = 'word '.repeat(10_000).trim()
  assert.equal((await runCall(slow, request(`Reply exactly ${long}`))).output.text, long)
  assert.ok(pauses.length < 200)
})

test("the chunks of the demonstration can be aggregated once more, as any vendor's", async () => {
  const messages = [user('list the files')]
  const tools = [{ name: 'terminal', description: '', parameters: { type: 'object' } }]
  const request = provider.buildRequest({ model: '', system: '', messages, tools })
  const { chunks, response } = await runCall(provider, request)
  assert.deepEqual(collected(provider, chunks), response)
})
