/**
 * `hermes inbox audit`: every accepted message ends in one of four ways, and the command shows it for each path.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { runInProcess } from '../cli/support.ts'
import { startTestGateway } from '../kit/start-gateway.ts'

interface Report {
  readonly accepted: number
  readonly endings: Readonly<Record<string, number>>
  readonly absorbedInto: Readonly<Record<string, number>>
  readonly open: readonly { readonly seq: number; readonly reason: string }[]
  readonly unaccounted: readonly { readonly seq: number }[]
  readonly paused: boolean
}

async function audit(root: string, ...more: string[]): Promise<Report & { readonly code: number | null }> {
  const { code, stdout } = await runInProcess(root, ['inbox', 'audit', '--json', ...more])
  const report: Report = JSON.parse(stdout)
  return { ...report, code }
}

test('answers, failures, silence, interruptions, commands and tasks are accounted for, and what waits says why', async (t) => {
  const gate = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    config: { display: { busy_input_mode: 'interrupt' } },
    model({ lastUserText }) {
      if (lastUserText === 'fail') return { error: { status: 401, body: { error: { message: 'no such key' } } } }
      if (lastUserText === 'be silent') return { text: '[SILENT]' }
      if (['slow', 'long'].includes(lastUserText)) return { text: 'late', gate: () => gate.promise }
      return { text: `You said: ${lastUserText}` }
    },
  })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  await gateway.say('fail', { chat: 'two' })
  await gateway.waitForReply('provider/auth', 'two')
  await gateway.say('be silent', { chat: 'three' })
  await gateway.waitForReply('[SILENT]', 'three')
  await gateway.say('slow', { chat: 'four' })
  await gateway.modelRequest(3)
  await gateway.say('and now', { chat: 'four' })
  await gateway.waitForReply('You said: and now', 'four')
  await gateway.say('/background look', { chat: 'five' })
  await gateway.waitForReply('You said: look', 'five')
  await gateway.say('/nonsense', { chat: 'five' })
  await gateway.waitForReply('/nonsense', 'five')
  await gateway.say('long', { chat: 'six' })
  await gateway.modelRequest(6)
  await gateway.say('/queue after it', { chat: 'six' })
  await gateway.until(({ chat }) => chat === 'six')

  const before = await audit(gateway.home.root)
  assert.equal(before.code, 0)
  assert.equal(
    Object.values(before.endings).reduce((sum, count) => sum + count, 0),
    before.accepted,
  )
  assert.deepEqual([before.endings['failed'], before.endings['absorbed'], before.endings['unaccounted']], [1, 1, 0])
  assert.deepEqual(before.absorbedInto, { answered: 1 })
  assert.equal(before.paused, false)
  const [running, waiting] = before.open
  assert.match(running?.reason ?? '', /processed/)
  assert.ok(waiting?.reason.includes(`message ${running?.seq} `), waiting?.reason)

  await gateway.say('/stop', { chat: 'six' })
  gate.resolve()
  await gateway.waitForReply('You said: after it', 'six')
  await gateway.stop()
  const after = await audit(gateway.home.root, '--since', '1d')
  assert.deepEqual([after.endings['open'], after.endings['unaccounted'], after.code], [0, 0, 0])
  assert.equal((await audit(gateway.home.root, '--since', '2100-01-01')).accepted, 0)
  assert.equal((await runInProcess(gateway.home.root, ['inbox', 'audit', '--since', 'soon'])).code, 2)
})

test('a message that ended without a result is reported, with exit code 1', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('hello')
  await gateway.waitForReply('hello')
  await gateway.stop()
  const db = new DatabaseSync(gateway.home.databaseFile)
  db.exec('update inbox set outcome = null')
  db.close()
  const { code, unaccounted } = await audit(gateway.home.root)
  assert.deepEqual([code, unaccounted.map(({ seq }) => seq)], [1, [1]])
})

test('without a database there is nothing to account for', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  const { code, accepted } = await audit(`${gateway.home.root}/none`)
  assert.deepEqual([code, accepted], [0, 0])
})
