/**
 * The report of a restart when it cannot be stored. The stories are in test/stories/a-restart-is-announced.test.ts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGatewayAdmin } from '../../../src/flows/commands/gateway-admin.ts'
import { reportRestart, storeRestart } from '../../../src/flows/lifecycle/restart.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { inboxFor } from '../../inbox/support.ts'

test('where the clock of the platform is behind, the second /restart is taken', async (t) => {
  const { store } = inboxFor(t)
  let now = 100_000
  let restarts = 0
  const notice = {
    *write() {
      // Nothing is stored.
    },
  }
  const restartOnce = () => {
    restarts += 1
  }
  const gateway = {
    ...{ store, clock: () => now, log: silentLog, accountDirectory: { list: () => [] } },
    ...{ lifecycle: { startedAt: now }, mode: { restart: restartOnce } },
  }
  const admin = createGatewayAdmin(gateway, { prepare: () => notice })
  const source = { platform: 'irc', account: 'default', chatId: 'a', chatType: 'dm' } as const
  const restart = () => store.commit(admin.restart(source, 10_000), () => now)
  // The messages that the platform delivers again arrive together.
  await restart()
  await restart()
  assert.equal(restarts, 0)
  now += 5_000
  await restart()
  assert.equal(restarts, 1)
})

test('a report that cannot be stored takes all of its notices back, and the next start repeats it', async (t) => {
  const { store } = inboxFor(t)
  const seen: string[] = []
  let isDiskFull = false
  const gateway = { store, accountDirectory: { list: () => [] }, clock: () => 1_000, log: silentLog }
  const outbox = {
    prepare: ({ target: { chatId } }: { readonly target: { readonly chatId: string } }) => ({
      // biome-ignore lint/correctness/useYield: a transaction without a query
      *write() {
        if (isDiskFull && chatId === 'b') throw new Error('the disk is full')
      },
      committed: () => void seen.push(`sends ${chatId}`),
      rolledBack: () => void seen.push(`takes back ${chatId}`),
    }),
  }
  const report = () => reportRestart(gateway, outbox, { resumed: () => assert.fail('no turn was interrupted') })
  for (const chatId of ['a', 'b']) {
    await store.run(() => storeRestart(gateway, outbox, { platform: 'irc', account: 'default', chatId }, 1_000))
  }
  isDiskFull = true
  await assert.rejects(report(), /the disk is full/)
  assert.deepEqual(seen.splice(0), ['takes back b', 'takes back a'])
  isDiskFull = false
  await report()
  assert.deepEqual(seen, ['sends a', 'sends b'])
})
