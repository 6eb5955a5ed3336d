/**
 * The administrators of a chat, whom `roles.owners`, `roles.members` and `roles.guests` may name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatType } from '../../../../src/message/source.ts'
import { signal, startTelegramTest } from '../support.ts'

const team = -1_001
const own = -1_002
const statuses = new Map([
  [1, 'creator'],
  [2, 'administrator'],
  [3, 'member'],
  [4, 'left'],
])

test('administrators of the named chat are its administrators there only', async (t) => {
  const { adapter } = await startTelegramTest(t, { server: { memberStatus: (_chat, user) => statuses.get(user) } })
  const rolesOf = (userId: string, chatId = String(team), chatType: ChatType = 'group') =>
    adapter.heldRoles?.(
      { platform: 'telegram', account: 'default', chatId, chatType, userId },
      [`administrators:${team}`],
      signal,
    )
  assert.deepEqual(await rolesOf('1'), [`administrators:${team}`])
  assert.deepEqual(await rolesOf('2'), [`administrators:${team}`])
  assert.deepEqual(await rolesOf('3'), [])
  assert.deepEqual(await rolesOf('4'), [])
  // Anybody can create a group of their own.
  assert.deepEqual(await rolesOf('1', String(own)), [])
  assert.deepEqual(await rolesOf('1', '1', 'dm'), [])
  await assert.rejects(async () => await rolesOf('5'))
})
