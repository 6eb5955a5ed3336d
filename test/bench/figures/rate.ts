/**
 * Many conversations at a steady rate, and what a flood by one person costs the others.
 */
import { join } from 'node:path'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { accountFor, rateConfig, sendAtRate } from '../kit/rate.ts'
import { median, quantile } from '../kit/stats.ts'

const perSecond = 50
const conversations = 200
const flood = 1_000

export const rate: Figure = {
  name: 'rate',
  about: '50 messages per second over 200 conversations, and the same during a flood by one person',
  measure: (options) => withGateway({ config: rateConfig }, (gateway) => measured(gateway, options)),
}

async function measured(gateway: BenchGateway, { full, progress }: BenchOptions): Promise<Row[]> {
  const rounds = full ? 8 : 3
  const seconds = 8
  const load = { conversations, perSecond, seconds, flood: 0 }
  progress('warm-up')
  await sendAtRate(gateway, { ...load, run: 'warm' })
  const sides = { calm: { p50: [0], p99: [0], cpu: [0] }, flood: { p50: [0], p99: [0], cpu: [0] } }
  for (const side of Object.values(sides)) for (const list of Object.values(side)) list.length = 0
  for (let round = 1; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? (['flood', 'calm'] as const) : (['calm', 'flood'] as const)) {
      progress(`${name}, round ${round} of ${rounds}`)
      const before = await gateway.cpuMs()
      const { answered } = await sendAtRate(gateway, {
        ...load,
        run: `${name}${round}`,
        flood: name === 'flood' ? flood : 0,
      })
      sides[name].cpu.push((await gateway.cpuMs()) - before)
      sides[name].p50.push(median(answered))
      sides[name].p99.push(quantile(answered, 0.99))
    }
  }
  const { accepted, lost, outOfOrder } = accountFor(join(gateway.home, 'state.db'))
  const calm = { p50: median(sides.calm.p50), p99: median(sides.calm.p99), cpu: median(sides.calm.cpu) }
  const during = { p50: median(sides.flood.p50), p99: median(sides.flood.p99), cpu: median(sides.flood.cpu) }
  const count = perSecond * seconds
  return [
    { name: 'message to reply, 50/s over 200 conversations, p50', measured: calm.p50, unit: 'ms' },
    { name: 'message to reply, 50/s over 200 conversations, p99', measured: calm.p99, unit: 'ms' },
    { name: 'CPU of a turn, 50/s over 200 conversations', measured: calm.cpu / count, unit: 'ms' },
    {
      name: 'messages lost or out of order',
      measured: lost + outOfOrder,
      unit: 'events',
      bar: 0,
      note: `${accepted} accepted`,
    },
    {
      name: 'message to reply of others during a flood of 1,000 messages in a second, p50',
      measured: during.p50,
      unit: 'ms',
      baseline: { what: 'without the flood', value: calm.p50 },
    },
    {
      name: 'message to reply of others during a flood of 1,000 messages in a second, p99',
      measured: during.p99,
      unit: 'ms',
      baseline: { what: 'without the flood', value: calm.p99 },
    },
    {
      name: 'CPU of the gateway for a message of the flood',
      measured: (during.cpu - calm.cpu) / flood,
      unit: 'ms',
      baseline: { what: 'a turn', value: calm.cpu / count },
    },
  ]
}
