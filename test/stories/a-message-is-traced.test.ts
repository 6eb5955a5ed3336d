/**
 * `hermes trace` and `GET /api/trace/…`: where a message is, and how it came there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInProcess } from '../cli/support.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { conversation } from './support.ts'

interface Step {
  readonly kind: string
  readonly name: string
  readonly at: number
  readonly ms: number | null
  readonly result: string
  readonly detail: string
}
interface Shown {
  readonly message: { readonly seq: number; readonly platform: string; readonly chatId: string }
  readonly turn: { readonly id: string; readonly model: string } | null
  readonly ending: string
  readonly reason: string
  readonly steps: readonly Step[]
}

const trace = async (root: string, subject: string): Promise<Shown> => {
  const { code, stdout } = await runInProcess(root, ['trace', subject, '--json'])
  assert.equal(code, 0)
  return JSON.parse(stdout)
}

test('a message is followed from its arrival through model and tools to its reply, by number, turn and "last"', async (t) => {
  const gateway = await startTestGateway(t, {
    model: (request) =>
      conversation(request).some((line) => line.startsWith('tool: '))
        ? { text: 'Nothing.' }
        : { toolCalls: [{ name: 'todo', arguments: {} }] },
  })
  await gateway.say('what is to do?')
  await gateway.waitForReply('Nothing.')
  await gateway.stop()
  const { root } = gateway.home
  const shown = await trace(root, 'last')
  assert.deepEqual([shown.ending, shown.message.seq], ['answered', 1])
  assert.deepEqual(
    shown.steps.filter(({ kind }) => !['sent', 'note'].includes(kind)).map(({ kind }) => kind),
    ['accepted', 'waited', 'turn', 'model', 'tool', 'model', 'delivery'],
  )
  const tool = shown.steps.find(({ kind }) => kind === 'tool')
  assert.deepEqual([tool?.name, tool?.result], ['todo', 'ok'])
  assert.ok(shown.steps.every(({ result }) => result === 'ok'))
  const turn = shown.turn?.id ?? ''
  for (const subject of ['1', turn, turn.slice(0, 13)]) assert.deepEqual(await trace(root, subject), shown)
  const { stdout } = await runInProcess(root, ['trace', '1'])
  assert.match(stdout, /Message +1 from .*\n/)
  assert.match(stdout, /tool todo {2}ok/)
})

test('a message that waits says why, and the API shows the same', async (t) => {
  const gate = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, { model: () => ({ text: 'late', gate: () => gate.promise }) })
  await gateway.say('slow')
  await gateway.modelRequest(0)
  await gateway.say('/queue and then this')
  await gateway.until(({ text }) => text !== '')
  const response = await gateway.http('/api/trace/last')
  const shown: Shown = JSON.parse(await response.text())
  assert.deepEqual([response.status, shown.ending, shown.turn], [200, 'open', null])
  assert.match(shown.reason, /message 1 /)
  assert.deepEqual(
    shown.steps.filter(({ result }) => result === 'open').map(({ kind }) => kind),
    ['waited'],
  )
  const running = await trace(gateway.home.root, '1')
  assert.equal(running.steps.find(({ kind }) => kind === 'turn')?.result, 'open')
  gate.resolve()
  await gateway.waitForReply('late')
})

test('an unknown message is refused with what to look at', async (t) => {
  const gateway = await startTestGateway(t)
  const { root } = gateway.home
  for (const subject of ['7', 'abc', 'last']) {
    assert.equal((await gateway.http(`/api/trace/${subject}`)).status, 404)
    const { code, stderr } = await runInProcess(root, ['trace', subject])
    assert.notEqual(code, 0)
    assert.match(stderr, /There is no message/)
  }
})
