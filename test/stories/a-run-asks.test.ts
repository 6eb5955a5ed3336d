/**
 * A run of `/v1/runs` asks its client, who answers over HTTP.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isRecord } from '../../src/lib/json.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { hasResult, terminalCall } from './support.ts'

const guard = `
  ctx.registerHook('pre_tool_call', ({ tool_name }) =>
    tool_name === 'terminal' ? { action: 'approve', message: 'It runs a command.', rule_key: 'commands' } : null)`

/** Runs a command, or asks with the arguments that its client wrote, and repeats the result. */
function answer(request: RecordedRequest): ModelReply {
  const messages = request.body['messages']
  const last = Array.isArray(messages) ? String(messages.at(-1)?.content) : ''
  if (hasResult(request)) return { text: `It gave: ${last}` }
  if (last.startsWith('run ')) return terminalCall(last.slice('run '.length))
  return { toolCalls: [{ name: 'clarify', arguments: JSON.parse(last) }] }
}

async function setUp(t: TestContext, config: Readonly<Record<string, unknown>> = {}) {
  const gateway = await startTestGateway(t, {
    model: answer,
    config: { platforms: { api_server: { enabled: true } }, plugins: { enabled: ['guard'] }, ...config },
    prepare: (home) => writeFiles(home.plugins, pluginFiles('guard', guard)),
  })
  const read = async (response: Promise<Response>) => {
    const body: unknown = await (await response).json()
    assert.ok(isRecord(body))
    return body
  }
  const state = (id: string) => read(gateway.http(`/v1/runs/${id}`))
  return {
    gateway,
    state,
    async start(input: string, more = {}) {
      return String((await read(gateway.post('/v1/runs', { input, ...more })))['run_id'])
    },
    post: (path: string, body: unknown) => read(gateway.post(path, body)),
    async until(id: string, matches: (run: Record<string, unknown>) => boolean) {
      for (;;) {
        const run = await state(id)
        if (matches(run)) return run
        assert.notEqual(run['status'], 'failed', JSON.stringify(run))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
  }
}

const isWaiting = ({ status }: Record<string, unknown>) => status === 'waiting_for_approval'
const hasEnded = ({ status }: Record<string, unknown>) => status === 'completed'

test('an approval by the client of a run lets the tool run, also after a restart', async (t) => {
  const { gateway, start, until, post } = await setUp(t)
  const id = await start('run echo approved')
  const waiting = await until(id, isWaiting)
  assert.ok(isRecord(waiting['approval']))
  assert.equal(waiting['approval']['command'], 'echo approved')
  await gateway.stop()
  await gateway.start()
  await until(id, isWaiting)
  assert.equal((await post(`/v1/runs/${id}/approval`, { choice: 'once' }))['resolved'], 1)
  const ended = await until(id, hasEnded)
  assert.match(String(ended['output']), /It gave: .*approved/)
  const late = await post(`/v1/runs/${id}/approval`, { choice: 'once' })
  assert.ok(isRecord(late['error']) && late['error']['code'] === 'approval_not_pending')
})

test('the agent reads why the client of a run has refused', async (t) => {
  const { start, until, post } = await setUp(t)
  const id = await start('run echo refused')
  await until(id, isWaiting)
  await post(`/v1/runs/${id}/approval`, { choice: 'deny', reason: 'not on a Friday' })
  assert.match(String((await until(id, hasEnded))['output']), /not on a Friday/)
})

test('the client of a run answers a question of the agent in own words', async (t) => {
  const { start, until, post } = await setUp(t)
  for (const question of [{ question: 'Which?', choices: ['red', 'green'] }, { question: 'Why?' }]) {
    const id = await start(JSON.stringify(question))
    await until(id, ({ clarify }) => clarify !== undefined)
    await post(`/v1/runs/${id}/clarify`, { response: 'a dark violet' })
    assert.match(String((await until(id, hasEnded))['output']), /"user_response":\s*"a dark violet"/)
  }
})

test('a run that no one answers, or that wants no question, is refused its tool', async (t) => {
  const { start, until } = await setUp(t, { approvals: { timeout: 0.05 } })
  assert.match(String((await until(await start('run echo late'), hasEnded))['output']), /No user answered in time/)
  const alone = await start('run echo alone', { attended: false })
  assert.match(String((await until(alone, hasEnded))['output']), /no user can be asked here/)
})

test('runs of one session wait for each other, and are listed with their states', async (t) => {
  const { gateway, start, until, post, state } = await setUp(t)
  const first = await start('run echo one', { session_id: 'same' })
  const second = await start('run echo two', { session_id: 'same' })
  await until(first, isWaiting)
  assert.equal((await state(second))['status'], 'running')
  const listed: unknown = await (await gateway.http('/v1/runs?limit=1')).json()
  assert.ok(isRecord(listed) && Array.isArray(listed['data']))
  const [newest] = listed['data']
  assert.ok([first, second].includes(newest.run_id))
  const next: unknown = await (await gateway.http(`/v1/runs?cursor=${listed['next_cursor']}`)).json()
  assert.ok(isRecord(next) && Array.isArray(next['data']))
  assert.deepEqual([newest.run_id, next['data'][0].run_id].sort(), [first, second].sort())
  await post(`/v1/runs/${first}/approval`, { choice: 'once' })
  await until(second, isWaiting)
  await post(`/v1/runs/${second}/approval`, { choice: 'once' })
  await until(second, hasEnded)
})
