import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCommandMenus } from '../../../src/flows/commands/command-menus.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createVirtualTime } from '../../platforms/virtual-time.ts'

test('menus follow quick commands and skills, once for several changes in a row', async () => {
  const time = createVirtualTime()
  const updated: string[] = []
  const adapters = {
    accounts: () => [{ platform: 'telegram', account: 'default' }],
    adapter: ({ platform }: { platform: string }) => ({ commandsChanged: () => updated.push(platform) }),
  }
  const { signal: stopping } = new AbortController()
  const update = createCommandMenus(adapters, { stopping, log: silentLog }, time.sleep)
  for (const path of ['skills', 'skills.disabled', 'quick_commands.hi', 'skillset', 'model']) update([path])
  await time.advance(1_000)
  assert.deepEqual(updated, ['telegram'])
  update(['skillset', 'model'])
  await time.advance(1_000)
  assert.equal(updated.length, 1)
})
