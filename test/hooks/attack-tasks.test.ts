/**
 * The number of open tasks of a hook is limited, so a hook that starts tasks in a loop causes limited costs. Other hooks are
 * not affected.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHookServices } from '../../src/flows/plugins/hook-host-api.ts'
import type { BackgroundTasks, OpenTask } from '../../src/flows/tasks/background-tasks.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { openStore } from '../kit/open-store.ts'

test('one hook can have at most fifty tasks, including those that are starting', async (t) => {
  const open: OpenTask[] = []
  const gateway = {
    accountDirectory: {
      list: () => [],
      access: () => assert.fail('no person'),
      authorityOf: () => assert.fail('no person'),
      lookUpAuthority: () => assert.fail('no person'),
    },
    platforms: { adapter: () => undefined },
    settings: () => assert.fail('the configuration limits people, and no hook'),
    home: createHomeLayout('/nowhere'),
    stopping: new AbortController().signal,
    store: openStore(t).store,
    clock: Date.now,
    log: silentLog,
  }
  const tasks: Pick<BackgroundTasks, 'start' | 'open'> = {
    async start({ requester }) {
      await new Promise((resolve) => setImmediate(resolve))
      const id = `bg_${open.length}`
      open.push({ id, by: requester.name, ageMs: 0 })
      return id
    },
    open: () => open,
  }
  const services = createHookServices(gateway, { prepare: () => assert.fail('nothing is sent') }, () => tasks)
  const start = (hook: string) => services.startAgent(hook, 'again', {}, { platforms: [] })
  const results = await Promise.allSettled(Array.from({ length: 80 }, () => start('loop')))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 50)
  await assert.rejects(start('loop'), /\b50\b/)
  assert.equal(await start('other'), 'bg_50')
  open.splice(0, 1)
  assert.equal(await start('loop'), 'bg_50')
})
