import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describedCommands } from '../../../src/app/built-in-commands.ts'
import { createCommandRegistry } from '../../../src/commands/registry.ts'
import { type CommandTiers, permittedCommands, refuseCommand } from '../../../src/flows/access/command-ceiling.ts'
import type { Authority, Role } from '../../../src/message/authority.ts'

const unset: CommandTiers = { adminFrom: [], groupAdminFrom: [], userAllowedCommands: [], groupUserAllowedCommands: [] }
const authority = (role: Role, chatType: Authority['chatType']): Authority => ({
  role,
  chatType,
  platform: 'x',
  chatId: 'c',
  userId: 'u',
})
const mayUse = (name: string, tiers: CommandTiers, role: Role, chatType: Authority['chatType']) =>
  refuseCommand({ name, aliases: name === 'new' ? ['reset'] : [] }, authority(role, chatType), tiers) === undefined

test('without a list of administrators every command is open', () => {
  const tiers = { ...unset, userAllowedCommands: ['status'] }
  for (const chatType of ['dm', 'group', 'channel', 'thread'] as const) {
    assert.deepEqual(permittedCommands(authority('guest', chatType), tiers), ['*'])
    assert.ok(mayUse('new', tiers, 'guest', chatType))
  }
})

test('a guest does not change a conversation that several people share', () => {
  const commands = createCommandRegistry(describedCommands())
  const refused = (name: string, role: Role, isShared: boolean) => {
    const definition = commands.resolve(name)
    assert.ok(definition)
    return refuseCommand(definition, authority(role, 'group'), unset, isShared) !== undefined
  }
  for (const name of ['new', 'busy', 'verbose', 'reasoning'])
    assert.deepEqual(
      [refused(name, 'guest', true), refused(name, 'guest', false), refused(name, 'member', true)],
      [true, false, false],
      name,
    )
  for (const name of ['help', 'status', 'queue', 'retry', 'stop']) assert.ok(!refused(name, 'guest', true), name)
})

test('with a list, others may use /help, /whoami and the listed commands by any of their names', () => {
  const tiers = { ...unset, adminFrom: ['boss'], userAllowedCommands: ['/Status', 'reset'] }
  for (const name of ['help', 'whoami', 'status', 'new']) assert.ok(mayUse(name, tiers, 'member', 'dm'), name)
  assert.ok(!mayUse('model', tiers, 'member', 'dm'))
  assert.ok(mayUse('model', tiers, 'owner', 'dm'))
})

test('the lists of direct messages and of groups never apply to each other', () => {
  const direct = { ...unset, adminFrom: ['boss'], groupUserAllowedCommands: ['model'] }
  assert.ok(!mayUse('model', direct, 'member', 'dm'))
  assert.ok(mayUse('model', direct, 'member', 'group'))
  const group = { ...unset, groupAdminFrom: ['boss'], userAllowedCommands: ['model'] }
  assert.ok(mayUse('model', group, 'member', 'dm'))
  for (const chatType of ['group', 'channel', 'thread', 'forum'] as const)
    assert.ok(!mayUse('model', group, 'member', chatType))
})
