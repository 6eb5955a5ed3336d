/**
 * An owner chooses the home channel in the chat itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, runCommand, waitForCommandReply } from './support.ts'

const config = { roles: { owners: ['fake:boss'] }, platforms: { fake: { home_channel: 'configured' } } }

test('/sethome has precedence over the configuration, survives a restart, and ends with /sethome off', async (t) => {
  const gateway = await startTestGateway(t, { config })
  const homeOf = async () => {
    const status: unknown = await (await gateway.http('/api/status')).json()
    return [at(status, 'homeChannels', 0, 'target', 'chatId'), at(status, 'homeChannels', 0, 'origin')]
  }
  assert.deepEqual(await homeOf(), ['configured', 'configuration'])
  await gateway.say('/sethome', { user: 'boss', chat: 'kitchen' })
  await waitForCommandReply(gateway, '', 'kitchen')
  assert.deepEqual(await homeOf(), ['kitchen', 'command'])
  await gateway.stop()
  await gateway.start()
  await gateway.post('/api/send', { targets: ['fake'], text: 'dinner is ready' })
  await gateway.waitForReply('dinner is ready', 'kitchen')
  await gateway.say('/set-home off', { user: 'boss', chat: 'elsewhere' })
  await waitForCommandReply(gateway, '', 'elsewhere')
  assert.deepEqual(await homeOf(), ['configured', 'configuration'])
})

test('/status names the home channels to an owner in a direct message, and to no one else', async (t) => {
  const gateway = await startTestGateway(t, { config })
  const statusOf = (options: object) => runCommand(gateway, '/status', options)
  assert.match(await statusOf({ user: 'boss', chat: 'office' }), /fake \(`configured`\)/)
  assert.doesNotMatch(await statusOf({ user: 'mia', chat: 'den' }), /configured/)
  assert.doesNotMatch(await statusOf({ user: 'boss', chat: 'room', chatType: 'group' }), /configured/)
})

test('only an owner chooses the home channel', async (t) => {
  const gateway = await startTestGateway(t, { config })
  await gateway.say('/sethome', { user: 'mia', chat: 'den' })
  await waitForCommandReply(gateway, '', 'den')
  const status: unknown = await (await gateway.http('/api/status')).json()
  assert.equal(at(status, 'homeChannels', 0, 'target', 'chatId'), 'configured')
})

test('the variables of a platform name its home channel', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { platforms: { fake: { home_channel: undefined } } },
    gateway: {
      environment: { PATH: process.env['PATH'], FAKE_HOME_CHANNEL: '-100', FAKE_HOME_CHANNEL_NAME: 'Family' },
    },
  })
  const status: unknown = await (await gateway.http('/api/status')).json()
  assert.deepEqual(
    [at(status, 'homeChannels', 0, 'target', 'chatId'), at(status, 'homeChannels', 0, 'name')],
    ['-100', 'Family'],
  )
})
