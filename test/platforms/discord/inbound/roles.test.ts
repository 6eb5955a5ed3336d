/**
 * The roles of a server that `roles.owners`, `roles.members` and `roles.guests` name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { neverAborted, startDiscordTest, waitForEvent } from '../support.ts'

test('a role of the server is held on this server only, and not in a direct chat', async (t) => {
  const { discord, gateway, adapter, ada, dm, mention } = await startDiscordTest(t, { options: { auto_thread: false } })
  const ask = (source: Parameters<NonNullable<typeof adapter.heldRoles>>[0]) =>
    adapter.heldRoles?.(source, ['role:7', 'role:8'], neverAborted)
  discord.world.memberRoles.set(ada.id, ['7'])
  discord.say(ada, discord.general, `${mention} here`)
  discord.say(ada, dm, 'directly')
  const { source } = (await waitForEvent(gateway, 'here')).event
  assert.deepEqual(await ask(source), ['role:7'])
  assert.deepEqual(await ask((await waitForEvent(gateway, 'directly')).event.source), [])
  await assert.rejects(async () => await ask({ ...source, userId: '1180000000000000099' }))
})
