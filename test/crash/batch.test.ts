import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { homeWith } from '../cli/support.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { type Daemon, startDaemon } from '../stories/daemon.ts'

const prompts = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot']

/** A home with a model that answers `charlie` and `delta` only after `release`. */
async function batchHome(t: TestContext, config = 'http: {port: 0}\n') {
  const released = Promise.withResolvers<void>()
  const asked: string[] = []
  const waiting = Promise.withResolvers<void>()
  const model = await startOpenAiServer({
    record: false,
    defaultReply({ lastUserText: text }) {
      asked.push(text)
      if (asked.includes('charlie') && asked.includes('delta')) waiting.resolve()
      const isHeld = text === 'charlie' || text === 'delta'
      return { text: `re ${text}`, ...(isHeld ? { gate: () => released.promise } : {}) }
    },
  })
  t.after(() => model.stop())
  const access = `terminal: {sandbox: "off"}\nprovider: openai\nmodel: m\nbase_url: ${model.baseUrl}\napi_key: none\nagent: {max_retries: 0}\n`
  const home = homeWith(t, `${config}${access}`)
  const file = (name: string) => join(home.root, name)
  writeFileSync(file('prompts.jsonl'), prompts.map((prompt) => `${JSON.stringify({ id: prompt, prompt })}\n`).join(''))
  const words = ['batch', 'run', file('prompts.jsonl'), '--out', file('out.jsonl'), '--concurrency', '2']
  return {
    home,
    out: file('out.jsonl'),
    trajectories: file('trajectories.jsonl'),
    release: released.resolve,
    /** Both workers of the batch wait for the model. */
    untilHeld: () => waiting.promise,
    start: () => startDaemon(t, home.root, { args: [...words, '--trajectories', file('trajectories.jsonl')] }),
    /** How often the model was asked each prompt. */
    calls: () => prompts.map((prompt) => asked.filter((text) => text === prompt).length),
  }
}

function readIds(path: string): string[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line).id).sort()
}

test('a batch that is killed with its gateway continues: every prompt has one result, and no answered prompt is asked again', async (t) => {
  const batch = await batchHome(t)
  const first = batch.start()
  await batch.untilHeld()
  await kill(first)
  assert.deepEqual(readIds(batch.out), ['alpha', 'bravo'])
  // The kill may tear the line that is being written.
  appendFileSync(batch.out, '{"id":"charlie","li')
  appendFileSync(batch.trajectories, '{"prompt_ind')
  batch.release()
  const second = batch.start()
  assert.deepEqual([await second.exit(), second.errors().includes('cli/')], [0, false], second.errors())
  assert.deepEqual(readIds(batch.out), prompts)
  assert.deepEqual(readIds(batch.trajectories), prompts)
  // The answers of two were lost with the gateway.
  assert.deepEqual(batch.calls(), [1, 1, 2, 2, 1, 1])
  assert.equal(existsSync(`${batch.out}.lock`), false)
})

test('a batch that is killed while a gateway runs asks the model nothing twice', async (t) => {
  const batch = await batchHome(t)
  const daemon = startDaemon(t, batch.home.root)
  await daemon.ready
  const first = batch.start()
  await batch.untilHeld()
  await kill(first)
  const second = batch.start()
  batch.release()
  assert.equal(await second.exit(), 0, second.errors())
  assert.deepEqual(readIds(batch.out), prompts)
  assert.deepEqual(readIds(batch.trajectories), prompts)
  assert.deepEqual(batch.calls(), [1, 1, 1, 1, 1, 1])
  await kill(daemon)
})

test('a batch goes on after its gateway was killed and started again', async (t) => {
  const port = await findFreePort()
  const batch = await batchHome(t, `http: {port: ${port}}\n`)
  const daemon = startDaemon(t, batch.home.root)
  await daemon.ready
  const running = batch.start()
  await batch.untilHeld()
  await kill(daemon)
  batch.release()
  await startDaemon(t, batch.home.root).ready
  assert.equal(await running.exit(), 0, running.errors())
  assert.deepEqual(readIds(batch.out), prompts)
  assert.deepEqual(readIds(batch.trajectories), prompts)
  assert.deepEqual(batch.calls(), [1, 1, 2, 2, 1, 1])
})

test('Ctrl-C waits for the prompts that were sent, and the same command answers the others', async (t) => {
  const batch = await batchHome(t)
  const first = batch.start()
  await batch.untilHeld()
  first.signal('SIGINT')
  await first.waitForLog('Ctrl-C again')
  batch.release()
  assert.equal(await first.exit(), 130)
  assert.deepEqual(readIds(batch.out), ['alpha', 'bravo', 'charlie', 'delta'])
  assert.equal(await batch.start().exit(), 0)
  assert.deepEqual(readIds(batch.out), prompts)
  assert.deepEqual(batch.calls(), [1, 1, 1, 1, 1, 1])
})

async function kill(process: Daemon): Promise<void> {
  process.signal('SIGKILL')
  assert.equal(await process.exit(), 'SIGKILL')
}

/** Below the range from which the system takes ports of connections, so that none takes it between two gateways. */
async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
