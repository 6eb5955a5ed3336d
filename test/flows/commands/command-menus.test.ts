import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCommandMenus } from '../../../src/flows/commands/command-menus.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createVirtualTime } from '../../platforms/virtual-time.ts'

test('menus follow quick commands and skills, once for several changes in a row', async () => {
  const time = createVirtualTime()
  const updated: string[] = []
  const update = createCommandMenus({
    supervisor: {
      accounts: () => [{ platform: 'telegram', account: 'default' }],
      adapter: (platform) => ({ commandsChanged: () => updated.push(platform) }),
    },
    sleep: time.sleep,
    stopping: new AbortController().signal,
    log: silentLog,
  })
  for (const path of ['skills', 'skills.disabled', 'quick_commands.hi', 'skillset', 'model']) update([path])
  await time.advance(1_000)
  assert.deepEqual(updated, ['telegram'])
  update(['skillset', 'model'])
  await time.advance(1_000)
  assert.equal(updated.length, 1)
})
