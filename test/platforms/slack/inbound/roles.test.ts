/**
 * The administrators of a workspace, whom `roles.owners`, `roles.members` and `roles.guests` may name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ada, bob, direct, neverAborted, startSlackTest } from '../support.ts'

test('administrators and owners of this workspace are its administrators, and no other user is', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  const team_id = server.workspace.teamId
  const rolesOf = (userId: string) =>
    adapter.heldRoles?.(
      { platform: 'slack', account: 'default', chatId: direct, chatType: 'dm', userId },
      ['admins'],
      neverAborted,
    )
  server.workspace.userFields.set(ada, { is_admin: true, team_id })
  assert.deepEqual(await rolesOf(ada), ['admins'])
  server.workspace.userFields.set(ada, { is_owner: true, team_id })
  assert.deepEqual(await rolesOf(ada), ['admins'])
  server.workspace.userFields.set(bob, { is_admin: false, team_id })
  assert.deepEqual(await rolesOf(bob), [])
  // An administrator elsewhere, in a shared channel.
  server.workspace.userFields.set(bob, { is_admin: true, is_owner: true, team_id: 'T0OTHER' })
  assert.deepEqual(await rolesOf(bob), [])
  server.scopes.delete('users:read')
  await assert.rejects(async () => await rolesOf(ada))
})
