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
  const admin = createGatewayAdmin({
    store,
    accountDirectory: { list: () => [] },
    outbox: { prepare: () => notice },
    clock: () => now,
    log: silentLog,
    startedAt: now,
    restart: () => {
      restarts += 1
    },
  })
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
  const deps = {
    store,
    accountDirectory: { list: () => [] },
    outbox: {
      prepare: ({ target: { chatId } }: { readonly target: { readonly chatId: string } }) => ({
        // biome-ignore lint/correctness/useYield: a transaction without a query
        *write() {
          if (isDiskFull && chatId === 'b') throw new Error('the disk is full')
        },
        committed: () => void seen.push(`sends ${chatId}`),
        rolledBack: () => void seen.push(`takes back ${chatId}`),
      }),
    },
    clock: () => 1_000,
    log: silentLog,
    notices: { resumed: () => assert.fail('no turn was interrupted') },
  }
  for (const chatId of ['a', 'b']) {
    await store.run(() => storeRestart(deps, { platform: 'irc', account: 'default', chatId }, 1_000))
  }
  isDiskFull = true
  await assert.rejects(reportRestart(deps), /the disk is full/)
  assert.deepEqual(seen.splice(0), ['takes back b', 'takes back a'])
  isDiskFull = false
  await reportRestart(deps)
  assert.deepEqual(seen, ['sends a', 'sends b'])
})
