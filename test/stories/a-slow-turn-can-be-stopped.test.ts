import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { isAlive, rowsIn, terminalCall, waitForCommandReply } from './support.ts'

test('/stop cancels a model request, and the next message is answered', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ text: 'one two three four', hang: 'stream', hangAfter: 3 }],
  })
  await gateway.say('tell me a long story')
  const request = await gateway.modelRequest(0)
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  assert.equal(await request.closed, true)
  await gateway.say('still there?')
  await gateway.waitForReply('still there?')
  const [end] = gateway.events.filter(({ name }) => name === 'agent:end')
  assert.match(String(end?.context['response']), /\(stopped\)|^$/)
})

test('/stop kills the command of a tool and its child processes', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  // The command writes to a pipe as soon as it runs.
  const pipe = join(gateway.home.root, 'pid')
  execFileSync('mkfifo', [pipe])
  gateway.model.enqueue(terminalCall(`sleep 60 & echo $! > '${pipe}'; wait`))
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('sleep a minute')
  const pid = Number(await readFile(pipe, 'utf8'))
  assert.ok(isAlive(pid))
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.waitForEvent('agent:end')
  assert.ok(!isAlive(pid), 'the command still runs')
  await gateway.say('and now?')
  await gateway.waitForReply('and now?')
})

test('/stop is answered also when nothing is running', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  assert.deepEqual(rowsIn(gateway.home, 'select id from turns'), [])
})
