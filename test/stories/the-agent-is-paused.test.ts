import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, rowsIn, terminalCall, waitForCommandReply } from './support.ts'

const owner = { config: { roles: { owners: ['fake:user'] }, platforms: { fake: { allow_from: ['user', 'ada'] } } } }

test('while the agent is paused, messages wait with one notice, commands are answered, and a restart changes nothing', async (t) => {
  const gateway = await startTestGateway(t, owner)
  await gateway.say('/pause maintenance')
  await waitForCommandReply(gateway)
  await gateway.say('first', { chat: 'c' })
  await gateway.waitForReply(/maintenance/, 'c')
  await gateway.say('second', { chat: 'c' })
  const ready: unknown = await (await gateway.http('/readyz')).json()
  assert.equal(at(ready, 'status'), 'ready')
  assert.match(String(at(ready, 'degraded', 0)), /maintenance/)
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('/version', { chat: 'c' })
  await gateway.waitForReply(/hermes-gateway/, 'c')
  assert.equal(gateway.model.requestCount, 0)
  assert.equal(gateway.replies('c').filter((text) => text.includes('maintenance')).length, 1)
  await gateway.post('/api/pause', { off: true })
  await gateway.waitForReply('You said: first', 'c')
  await gateway.waitForReply('You said: second', 'c')
  assert.deepEqual(at(await (await gateway.http('/readyz')).json(), 'degraded'), [])
})

test('a running turn finishes its tool, waits, and goes on when the pause ends', async (t) => {
  const gateway = await startTestGateway(t, { ...owner, startNow: false })
  const [started, go, count] = ['started', 'go', 'count'].map((name) => join(gateway.home.root, name))
  execFileSync('mkfifo', [String(started), String(go)])
  gateway.model.enqueue(terminalCall(`echo once >> '${count}'; echo > '${started}'; cat '${go}'`), { text: 'done' })
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('work')
  await readFile(String(started))
  await gateway.post('/api/pause', { reason: 'stop the bill' })
  await writeFile(String(go), '')
  await gateway.waitForLog({ event: 'turn.paused' })
  assert.equal(gateway.model.requestCount, 1)
  assert.deepEqual(
    rowsIn(gateway.home, 'select state, tries, crashes, attempt_open from inbox').map((row) => ({ ...row })),
    [{ state: 'claimed', tries: 0, crashes: 0, attempt_open: 0 }],
  )
  await gateway.say('/pause off')
  await gateway.waitForReply('done')
  assert.equal(await readFile(String(count), 'utf8'), 'once\n')
})

test('only an owner can pause the agent', async (t) => {
  const gateway = await startTestGateway(t, owner)
  await gateway.say('/pause', { user: 'ada', chat: 'hers' })
  await gateway.waitForLog({ event: 'command.not_permitted' })
  await gateway.say('hello', { user: 'ada', chat: 'hers' })
  await gateway.waitForReply('You said: hello', 'hers')
})
