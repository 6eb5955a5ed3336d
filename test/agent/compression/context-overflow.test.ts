import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentTurnInput } from '../../../src/agent/loop/agent-turn.ts'
import { ModelError } from '../../../src/agent/models/provider.ts'
import type { ChatMessage } from '../../../src/message/transcript.ts'
import { call, type ScriptStep } from '../../kit/scripted-provider.ts'
import { runTestAgent } from '../run-test-agent.ts'

const long: ChatMessage = { role: 'user', content: 'a long question' }
const short: ChatMessage = { role: 'user', content: 'short' }
const refusal = () => new ModelError('context', 'too many tokens')

function run(script: readonly ScriptStep[], compress: AgentTurnInput['compress']) {
  const setting = { transcript: [long], ...(compress === undefined ? {} : { compress }) }
  const { result, provider } = runTestAgent(script, { read: async () => 'found' }, setting)
  return { result, asked: provider.requests }
}

test('a conversation that the model rejects as too long is compressed and sent again, also within a turn', async () => {
  let times = 0
  const compress = async () => {
    times += 1
    return [short]
  }
  const { result, asked } = run(
    [{ calls: [call('a', 'read')] }, refusal(), { calls: [call('b', 'read')] }, refusal(), { chunks: ['done'] }],
    compress,
  )
  assert.equal((await result).text, 'done')
  assert.equal(times, 2)
  assert.deepEqual(
    asked.map(({ messages }) => messages.map(({ role, content }) => (role === 'assistant' ? role : content))),
    [
      ['a long question'],
      ['a long question', 'assistant', 'found'],
      ['short'],
      ['short', 'assistant', 'found'],
      ['short'],
    ],
  )
  assert.ok(asked.every(({ system }) => system === 'be kind'))
})

test('a conversation that is still too long is not compressed again', async () => {
  let times = 0
  const { result } = run([refusal(), refusal()], async () => {
    times += 1
    return [short]
  })
  await assert.rejects(result, (error) => error instanceof ModelError && error.kind === 'context')
  assert.equal(times, 1)
})

test('without anything to compress the error is unchanged, and other errors never cause a compression', async () => {
  const first = refusal()
  await assert.rejects(run([first], async () => null).result, first)
  const second = refusal()
  await assert.rejects(run([second], undefined).result, second)
  const wrongKey = new ModelError('auth', 'wrong key')
  await assert.rejects(run([wrongKey], async () => assert.fail('it has nothing to do with length')).result, wrongKey)
})
