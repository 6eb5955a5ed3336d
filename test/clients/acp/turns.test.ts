/**
 * How a turn looks in an editor, and how it ends.
 */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { methods } from '@agentclientprotocol/sdk'
import { frameTooLong, readFrames } from '../../../src/clients/acp/stdio.ts'
import type { ModelReply } from '../../kit/servers/model-script.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { conversation, terminalCall } from '../../stories/support.ts'
import { openEditor, type TestEditorOptions } from './editor.ts'

async function withSession(t: TestContext, replies: readonly ModelReply[], options: TestEditorOptions = {}) {
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: 'off' }, platform_toolsets: { acp: ['hermes-acp', 'clarify'] } },
    replies,
  })
  const editor = await openEditor(t, gateway, options)
  const project = tempHome(t)
  return { gateway, editor, project, id: await editor.open(project) }
}

test('an answer that was cut off ends with the reason', async (t) => {
  const { editor, id } = await withSession(t, [
    { text: 'half', finishReason: 'length' },
    { text: 'half', finishReason: 'length' },
    { text: 'half', finishReason: 'length' },
    { text: 'half', finishReason: 'length' },
  ])
  assert.equal(await editor.say(id, 'long'), 'max_tokens')
})

test('what the model thought is shown as a thought where the person wants to see it', async (t) => {
  const { editor, id } = await withSession(t, [{ text: 'answer', reasoning: 'let me think' }])
  assert.equal(await editor.say(id, '/reasoning show'), 'end_turn')
  await editor.say(id, 'why?')
  const thought = await editor.until((update) => update.sessionUpdate === 'agent_thought_chunk')
  assert.match(JSON.stringify(thought), /let me think/)
  assert.doesNotMatch(editor.text(id), /let me think/)
})

test('a question of the agent with choices is answered by an option, and one in words by the next prompt', async (t) => {
  const ask = (choices?: readonly string[]) => ({
    toolCalls: [
      { name: 'clarify', arguments: { question: 'Which colour?', ...(choices === undefined ? {} : { choices }) } },
    ],
  })
  const { gateway, editor, id } = await withSession(
    t,
    [ask(['red', 'blue']), { text: 'one' }, ask(), { text: 'two' }],
    {
      choose: ({ options }) => options.find(({ name }) => name === 'blue')?.optionId,
    },
  )
  assert.equal(await editor.say(id, 'paint'), 'end_turn')
  assert.match(conversation(gateway.model.requests[1]).join('\n'), /blue/)
  const running = editor.say(id, 'paint again')
  await editor.until(
    (update) => update.sessionUpdate === 'agent_message_chunk' && JSON.stringify(update).includes('Which colour?'),
  )
  await editor.say(id, 'a shade of green')
  assert.equal(await running, 'end_turn')
  assert.match(conversation(gateway.model.requests[3]).join('\n'), /a shade of green/)
})

test('a prompt during a prompt is the next message of the conversation', async (t) => {
  const { editor, id } = await withSession(t, [terminalCall('sleep 0.5'), { text: 'second' }, { text: 'second' }])
  const first = editor.say(id, 'wait')
  await editor.until((update) => update.sessionUpdate === 'tool_call')
  assert.equal(await editor.say(id, 'rather this'), 'end_turn')
  assert.ok(['cancelled', 'end_turn'].includes(await first))
  assert.match(editor.text(id), /second/)
})

test('with a running gateway a turn goes on after the editor has died, and another one shows its answer', async (t) => {
  const { gateway, editor, project, id } = await withSession(t, [terminalCall('sleep 0.3'), { text: 'the answer' }])
  const dying = editor.say(id, 'work').catch(() => undefined)
  await editor.until((update) => update.sessionUpdate === 'tool_call')
  await editor.close()
  await dying
  const other = await openEditor(t, gateway)
  await other.agent.request(methods.agent.session.load, { sessionId: id, cwd: project, mcpServers: [] })
  // The text may come in pieces.
  await other.until(() => other.text(id).includes('the answer'))
})

test('a request that is too long keeps its id, wherever it is, so that it is answered', async () => {
  const long = 'x'.repeat(300)
  const frames = [`{"jsonrpc":"2.0","id":7,"params":"${long}"}`, `{"params":{"id":1,"a":"${long}"},"id":"b"}`]
  const read = await text(readFrames(new PassThrough().end(`${frames.join('\n')}\n`), 200))
  const lines = read.trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [7, 'b'].map((id) => ({ jsonrpc: '2.0', id, method: frameTooLong })),
  )
})

test('a frame that is too long is replaced by one that is no JSON, and the next one is read', async () => {
  const input = new PassThrough()
  const read = text(readFrames(input, 20))
  input.write('{"a":1}\n{"long":"')
  input.write('x'.repeat(30))
  input.write('"}\n{"b":2}\n{"end":')
  input.end('3}')
  const lines = (await read).split('\n')
  assert.deepEqual([lines[0], lines[2], lines[3]], ['{"a":1}', '{"b":2}', '{"end":3}'])
  assert.throws(() => JSON.parse(lines[1] ?? ''))
})
