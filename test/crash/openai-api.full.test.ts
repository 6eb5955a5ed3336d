/**
 * Kills the gateway during a run and during a response. Both go on after the next start, what the tools do is done once, and
 * clients find the result by its id. The process that one test has restarted is the one that the next test kills.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createHomeLayout } from '../../src/lib/home.ts'
import { isRecord } from '../../src/lib/json.ts'
import { readDaemonAddress } from '../../src/lib/pid-file.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { createKilledGateway, type KilledGateway } from './killed-gateway.ts'

/** A model that runs a command of its client once and then says so. */
function createGateway(t: TestContext): Promise<KilledGateway> {
  const answer = (text: string, { body }: RecordedRequest): string | ModelReply => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    if (messages.at(-1)?.role === 'tool') return `Done: ${String(messages.at(-1)?.content)}`
    if (!text.startsWith('run ')) return `You said: ${text}`
    return { toolCalls: [{ name: 'terminal', arguments: { command: text.slice('run '.length) } }] }
  }
  return createKilledGateway(t, 'api_server', { enabled: true }, answer)
}

/** A request with the token. The platform connects some time after the gateway is ready. */
async function send({ home }: KilledGateway, path: string, body?: unknown, headers = {}): Promise<Response> {
  for (;;) {
    const address = readDaemonAddress(createHomeLayout(home))
    assert.ok(address)
    const token = readFileSync(join(home, 'gateway.token'), 'utf8').trim()
    const response = await fetch(`${address.url}${path}`, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    })
    const isConnecting = response.status === 503 || (response.status === 404 && !(await isKnown(response)))
    if (!isConnecting) return response
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function isKnown(response: Response): Promise<boolean> {
  return !(await response.clone().text()).includes('http/not-found')
}

async function read(response: Promise<Response>): Promise<Record<string, unknown>> {
  const answer: unknown = await (await response).json()
  assert.ok(isRecord(answer))
  return answer
}

/** Resolves with the state of a run or response that is no longer open. */
async function untilEnded(gateway: KilledGateway, path: string, isOpen: (status: string) => boolean) {
  const poll = async () => {
    for (;;) {
      const state = await read(send(gateway, path))
      if (!isOpen(String(state['status']))) return state
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return await gateway.until(`the end of ${path}`, poll())
}

test('runs and responses survive a crash', { timeout: 120_000 }, async (t) => {
  const gateway = await createGateway(t)
  await gateway.restart()

  await t.test('a run goes on, its command runs once, and its readers are told what is missed', async () => {
    await gateway.arm('tool:effect-done')
    const effects = join(gateway.home, 'effects.log')
    const { run_id: id } = await read(send(gateway, '/v1/runs', { input: `run echo once | tee -a '${effects}'` }))
    await gateway.killed()
    await gateway.restart()
    const response = await send(gateway, `/v1/runs/${id}/events`, undefined, { 'last-event-id': '00000000-3-0' })
    const events = await gateway.until('the end of the events', response.text())
    assert.match(events, /^id: .*\ndata: \{"event":"events\.missed","missed":true/)
    assert.match(events, /"event":"run\.completed"/)
    const state = await untilEnded(gateway, `/v1/runs/${id}`, (status) => status === 'running')
    assert.equal(state['status'], 'completed')
    assert.equal(readFileSync(effects, 'utf8'), 'once\n')
  })

  await t.test('an approval that a run waits for is answered, and the command runs once', async () => {
    const effects = join(gateway.home, 'allowed.log')
    await gateway.arm('approval:waiting')
    // Commands of this kind need an approval.
    const input = `run rm -rf '${join(gateway.home, 'nothing')}'; echo allowed | tee -a '${effects}'`
    const { run_id: id } = await read(send(gateway, '/v1/runs', { input }))
    await gateway.killed()
    await gateway.restart()
    const waiting = await untilEnded(gateway, `/v1/runs/${id}`, (status) => status === 'running')
    assert.equal(waiting['status'], 'waiting_for_approval')
    assert.ok(!existsSync(effects))
    assert.equal((await send(gateway, `/v1/runs/${id}/approval`, { choice: 'once' })).status, 200)
    const ended = await untilEnded(gateway, `/v1/runs/${id}`, (status) => status !== 'completed')
    assert.match(String(ended['output']), /Done: .*allowed/)
    assert.equal(readFileSync(effects, 'utf8'), 'allowed\n')
  })

  for (const conversation of [undefined, 'kept']) {
    const kind = conversation === undefined ? 'a response' : 'a response of a conversation'
    await t.test(`${kind} whose connection the crash ends is complete`, async () => {
      await gateway.arm('turn:before-finish')
      const body = { input: `hello ${kind}`, stream: true, ...(conversation === undefined ? {} : { conversation }) }
      const key = { 'idempotency-key': `order-${conversation ?? 'single'}` }
      const id = await gateway.until('the first event', send(gateway, '/v1/responses', body, key).then(readId))
      await gateway.killed()
      await gateway.restart()
      const state = await untilEnded(gateway, `/v1/responses/${id}`, (status) => status === 'in_progress')
      assert.equal(state['status'], 'completed')
      assert.match(JSON.stringify(state['output']), new RegExp(`You said: hello ${kind}`))
      // The client tries again and gets the same response.
      const again = await read(send(gateway, '/v1/responses', { ...body, stream: false }, key))
      assert.equal(again['id'], id)
    })
  }

  await gateway.stop()
})

/** Reads the id from the first event of a stream, which then breaks. */
async function readId(response: Response): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.ok(reader)
  let text = ''
  for (;;) {
    const { value, done } = await reader.read().catch(() => ({ value: undefined, done: true }))
    text += value ?? ''
    const id = /"id":"(resp_[0-9a-f]{32})"/.exec(text)?.[1]
    if (id !== undefined) return id
    assert.ok(!done, text)
  }
}
