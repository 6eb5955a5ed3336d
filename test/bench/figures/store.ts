/**
 * The rate at which events are stored, one by one and in groups.
 */
import { join } from 'node:path'
import { acceptEvent } from '../../../src/inbox/queries.ts'
import { createSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Figure } from '../figure.ts'
import { fdatasyncTimes } from '../kit/disk.ts'
import { withHome } from '../kit/home.ts'
import { median, quantile } from '../kit/stats.ts'

export const store: Figure = {
  name: 'store',
  about: 'accepting events: one by one, and in groups',
  measure: ({ full, progress }) =>
    withHome('', async (home) => {
      const disk = createSqliteStore({ path: join(home, 'state.db') })
      try {
        const rounds = full ? 10 : 4
        const single: number[] = []
        const grouped: number[] = []
        const times: number[] = []
        const syncs: number[] = []
        await acceptEvents(disk, 'warm', 32, 2_000)
        for (let round = 0; round < rounds; round++) {
          progress(`round ${round + 1} of ${rounds}`)
          syncs.push(...fdatasyncTimes(200))
          const alone = await acceptEvents(disk, `single${round}`, 1, 500)
          const crowd = await acceptEvents(disk, `grouped${round}`, 32, 8_000)
          single.push(alone.perSecond)
          grouped.push(crowd.perSecond)
          times.push(...alone.times)
        }
        const sync = { what: 'fdatasync', value: median(syncs) }
        return [
          { name: 'accept, one by one, p50', measured: median(times), unit: 'ms', baseline: sync },
          {
            name: 'accept, one by one, p99',
            measured: quantile(times, 0.99),
            unit: 'ms',
            baseline: { what: 'fdatasync', value: quantile(syncs, 0.99) },
          },
          {
            name: 'accepts per second, 32 at a time',
            measured: median(grouped),
            unit: '/s',
            baseline: { what: 'one by one', value: median(single) },
          },
        ]
      } finally {
        await disk.close()
      }
    }),
}

async function acceptEvents(disk: Store, name: string, inFlight: number, count: number) {
  const times: number[] = []
  let next = 0
  const worker = async () => {
    while (next < count) {
      next += 1
      const key = `${name}:${next}`
      const begun = performance.now()
      await disk.run(() => acceptEvent(rowFor(name, key), [key], next))
      times.push(performance.now() - begun)
    }
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: inFlight }, worker))
  return { perSecond: count / ((performance.now() - begun) / 1_000), times }
}

function rowFor(chat: string, text: string) {
  const source = { platform: 'bench', account: 'main', chatId: chat, chatType: 'dm', userId: 'u1' }
  return {
    sessionKey: `agent:main:bench:dm:${chat}`,
    lane: 'turn' as const,
    kind: 'text',
    platform: 'bench',
    account: 'main',
    chatId: chat,
    payload: JSON.stringify({ source, text, messageType: 'text', messageId: text, timestamp: 0 }),
  }
}
