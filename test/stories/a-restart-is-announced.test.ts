/**
 * An owner restarts the gateway from a chat: nothing is lost, and who asked, the home channels and interrupted conversations
 * are told once. The process is replaced in test/cli/kit/restart-process.test.ts; here the gateway is stopped and started again.
 */
import assert from 'node:assert/strict'
import { renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { rowsIn, waitForCommandReply } from './support.ts'

const roles = { owners: ['fake:boss'], members: ['fake:mia'] }
const boss = { user: 'boss', chat: 'office' }

async function startRestartable(t: TestContext, options: TestGatewayOptions = {}) {
  const requested = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    ...options,
    config: { roles, platforms: { fake: { home_channel: 'home' } }, ...options.config },
    gateway: { onRestartRequest: requested.resolve },
  })
  return { gateway, requested: requested.promise }
}

async function restart(gateway: TestGateway): Promise<void> {
  await gateway.current().stop(undefined, true)
  await gateway.start()
}

const texts = (gateway: TestGateway, chat: string) => gateway.replies(chat).map((text) => text.split(' ')[0])

test('/restart of an owner tells this chat and the home channel, before and after', async (t) => {
  const { gateway, requested } = await startRestartable(t)
  await gateway.say('/restart', boss)
  await requested
  await restart(gateway)
  await gateway.waitForReply('✅', 'office')
  await gateway.waitForReply('✅', 'home')
  assert.deepEqual(texts(gateway, 'office'), ['🔄', '✅'])
  assert.deepEqual(texts(gateway, 'home'), ['🔄', '✅'])
  await gateway.stop()
  await gateway.start()
  await gateway.say('/whoami', boss)
  await waitForCommandReply(gateway, 'Role', 'office')
  assert.equal(gateway.replies('home').length, 2, 'a later start reports nothing')
})

test('an owner who asks in the home channel is told once', async (t) => {
  const { gateway, requested } = await startRestartable(t)
  await gateway.say('/restart', { user: 'boss', chat: 'home' })
  await requested
  await restart(gateway)
  await gateway.waitForReply('✅', 'home')
  await gateway.stop()
  assert.deepEqual(texts(gateway, 'home'), ['🔄', '✅'])
})

test('with gateway_restart_notification: false only who asked is told', async (t) => {
  const platforms = { fake: { home_channel: 'home', gateway_restart_notification: false } }
  const { gateway, requested } = await startRestartable(t, { config: { platforms } })
  await gateway.say('/restart', boss)
  await requested
  await restart(gateway)
  await gateway.waitForReply('✅', 'office')
  await gateway.stop()
  assert.deepEqual(gateway.replies('home'), [])
})

test('a restart by a signal tells the home channel, and a stop tells no one', async (t) => {
  const { gateway } = await startRestartable(t)
  await gateway.current().announceRestart()
  await restart(gateway)
  await gateway.waitForReply('✅', 'home')
  await gateway.stop()
  await gateway.start()
  await gateway.stop()
  assert.deepEqual(texts(gateway, 'home'), ['🔄', '✅'])
})

test('"restart the gateway" in a direct message of an owner is /restart; for others and in groups it is a message', async (t) => {
  const { gateway, requested } = await startRestartable(t, { model: () => ({ text: 'just a message' }) })
  await gateway.say('Restart the gateway', { user: 'mia', chat: 'mia' })
  await gateway.waitForReply('just a message', 'mia')
  await gateway.say('restart gateway', { user: 'boss', chat: 'group', chatType: 'group' })
  await gateway.waitForReply('just a message', 'group')
  await gateway.say('restart gateway tomorrow', boss)
  await gateway.waitForReply('just a message', 'office')
  await gateway.say(' Restart the Hermes gateway. ', boss)
  await requested
  await gateway.waitForReply('🔄', 'office')
})

test('a member may not restart the gateway', async (t) => {
  const { gateway } = await startRestartable(t)
  await gateway.say('/restart', { user: 'mia', chat: 'mia' })
  await waitForCommandReply(gateway, '', 'mia')
  assert.deepEqual(rowsIn(gateway.home, 'select * from restart_requests'), [])
})

test('an interrupted conversation goes on after the restart and says so once', async (t) => {
  let asked = 0
  const { gateway, requested } = await startRestartable(t, {
    config: { agent: { drain_timeout: 30, restart_drain_timeout: 0 } },
    model: () => (asked++ === 0 ? { hang: 'headers' } : { text: 'here is the answer' }),
  })
  await gateway.say('a long question', { user: 'mia', chat: 'mia' })
  await gateway.modelRequest(0)
  await gateway.say('/restart', boss)
  await requested
  await restart(gateway)
  await gateway.waitForReply('here is the answer', 'mia')
  await gateway.stop()
  assert.deepEqual(texts(gateway, 'mia'), ['♻️', 'here'])
})

test('a /restart that was written before the start does not restart again', async (t) => {
  const { gateway, requested } = await startRestartable(t)
  await gateway.say('/restart', boss)
  await requested
  await gateway.current().stop(undefined, true)
  // Arrives while the gateway is stopped, as when it was written twice.
  const second = gateway.say('/restart', { ...boss, at: Date.now() - 60_000 })
  await gateway.start({ onRestartRequest: () => assert.fail('restarted again') })
  await second
  await gateway.until(({ chat, key }) => chat === 'office' && key.startsWith('command:') && key !== 'command:1:1')
  assert.deepEqual(rowsIn(gateway.home, 'select * from restart_requests'), [])
})

/** Stops the gateway, and gives its home the database of the moment at which it was called, as after a kill. */
async function kill(gateway: TestGateway, change = ''): Promise<void> {
  const { databaseFile } = gateway.home
  const moment = `${databaseFile}.moment`
  const db = new DatabaseSync(databaseFile)
  db.prepare('vacuum into ?').run(moment)
  db.close()
  await gateway.stop(AbortSignal.abort())
  for (const suffix of ['-wal', '-shm']) rmSync(`${databaseFile}${suffix}`, { force: true })
  const left = new DatabaseSync(moment)
  left.exec(change)
  left.close()
  renameSync(moment, databaseFile)
}

test('a restart is reported after a kill between the command and the stop, and it is not repeated', async (t) => {
  const { gateway, requested } = await startRestartable(t)
  await gateway.say('/restart', boss)
  await requested
  await kill(gateway)
  await gateway.start({ onRestartRequest: () => assert.fail('restarted again') })
  await gateway.waitForReply('✅', 'office')
  await gateway.waitForReply('✅', 'home')
  assert.deepEqual(rowsIn(gateway.home, 'select * from restart_requests'), [])
})

test('a restart that another stop has overtaken is not reported days later', async (t) => {
  const { gateway, requested } = await startRestartable(t)
  await gateway.say('/restart', boss)
  await requested
  await gateway.waitForReply('🔄', 'home')
  await kill(gateway, 'update restart_requests set requested_at = requested_at - 86400000')
  await gateway.start()
  await gateway.say('/whoami', boss)
  await waitForCommandReply(gateway, 'Role', 'office')
  assert.ok(![...gateway.replies('office'), ...gateway.replies('home')].some((text) => text.startsWith('✅')))
  assert.deepEqual(rowsIn(gateway.home, 'select * from restart_requests'), [])
})
