import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, conversation, terminalCall } from './support.ts'

test('the model writes a file, reads it and replies with its content', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [
      {
        text: 'I write.',
        toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'milk\neggs\n' } }],
      },
      { toolCalls: [{ name: 'read_file', arguments: { path: 'note.txt' } }] },
      { text: 'It says milk and eggs.' },
    ],
  })
  await gateway.say('make a shopping list')
  const { text } = await gateway.waitForReply('milk and eggs')
  assert.equal(text, 'It says milk and eggs.')
  assert.equal(await readFile(join(gateway.home.root, 'note.txt'), 'utf8'), 'milk\neggs\n')
  const lines = conversation(gateway.model.requests[2])
  assert.match(lines.at(-1) ?? '', /^tool: .*milk/s)
})

test('two results are returned in the order of their calls', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [
      {
        toolCalls: [
          { name: 'terminal', arguments: { command: 'echo first' } },
          { name: 'terminal', arguments: { command: 'echo second' } },
        ],
      },
      { text: 'done' },
    ],
  })
  await gateway.say('run both')
  await gateway.waitForReply('done')
  const results = conversation(gateway.model.requests[1]).filter((line) => line.startsWith('tool:'))
  assert.match(results[0] ?? '', /first/)
  assert.match(results[1] ?? '', /second/)
})

test('a destructive command is refused with an error for the model', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [
      { toolCalls: [{ name: 'terminal', arguments: { command: 'rm -rf / --no-preserve-root' } }] },
      { text: 'I may not.' },
    ],
  })
  await gateway.say('delete everything')
  await gateway.waitForReply('I may not.')
  assert.match(conversation(gateway.model.requests[1]).at(-1) ?? '', /error/)
})

test('a command on the deny list never runs, and an edit of the list takes effect with the next turn', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { approvals: { deny: ['*echo*'] } },
    replies: [terminalCall('echo first'), { text: 'refused' }, terminalCall('echo second'), { text: 'ran' }],
  })
  await gateway.say('say first')
  await gateway.waitForReply('refused')
  assert.equal(at(JSON.parse(lastResult(gateway.model.requests[1])), 'rule'), 'denied')
  gateway.configure({ approvals: { deny: [] } })
  await gateway.waitForLog({ event: 'config.reloaded' })
  await gateway.say('say second')
  await gateway.waitForReply('ran')
  assert.match(lastResult(gateway.model.requests[3]), /second/)
})

function lastResult(request: RecordedRequest | undefined): string {
  return (
    conversation(request)
      .at(-1)
      ?.replace(/^tool: /, '') ?? ''
  )
}
