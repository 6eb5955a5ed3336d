/**
 * What the metrics cost: the CPU of a turn with `http.metrics` and without, in alternating rounds of two gateways, and the time of
 * one request for them.
 */
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { median } from '../kit/stats.ts'

const config = 'platforms: { direct: { enabled: true } }'

export const metrics: Figure = {
  name: 'metrics',
  about: 'what counting for GET /metrics costs a turn',
  measure: (options) =>
    withGateway({ config: `http: { port: 0, metrics: true }\n${config}` }, (counting) =>
      withGateway({ config }, (plain) => measured(counting, plain, options)),
    ),
}

async function measured(counting: BenchGateway, plain: BenchGateway, options: BenchOptions): Promise<Row[]> {
  const { full, progress } = options
  const rounds = full ? 16 : 8
  const cpu = { counting: [] as number[], plain: [] as number[] }
  for (let round = 0; round <= rounds; round += 1) {
    progress(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`)
    const sides = [['counting', counting] as const, ['plain', plain] as const]
    for (const [side, gateway] of round % 2 === 0 ? sides : sides.toReversed()) {
      const ms = await cpuOfTurn(gateway, `${side}${round}`)
      if (round > 0) cpu[side].push(ms)
    }
  }
  return [
    {
      name: 'CPU of a turn, 8 chats, with metrics',
      measured: median(cpu.counting),
      unit: 'ms',
      bar: median(cpu.plain) * 1.02,
      baseline: { what: 'without', value: median(cpu.plain) },
    },
    { name: 'GET /metrics, p50', measured: await scrapeMs(counting), unit: 'ms' },
  ]
}

async function cpuOfTurn(gateway: BenchGateway, run: string): Promise<number> {
  const turns = 400
  const before = await gateway.cpuMs()
  await gateway.request('turns', { run, chats: 8, turns, perSession: 25, pauseMs: 0 }, z.unknown())
  return ((await gateway.cpuMs()) - before) / turns
}

async function scrapeMs(gateway: BenchGateway): Promise<number> {
  const { url, token } = await gateway.address()
  const times: number[] = []
  for (let sample = 0; sample < 50; sample += 1) {
    const begun = performance.now()
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    await response.text()
    if (response.status !== 200) throw new Error(`GET /metrics: ${response.status}`)
    times.push(performance.now() - begun)
  }
  return median(times)
}
