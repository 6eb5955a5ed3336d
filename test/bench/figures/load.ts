/**
 * The cost of a turn with the official SDK and a model in another process, compared with a bare loop that polls, asks
 * and sends without any delivery guarantee. Both run alternately in the same seconds.
 */
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchChat, withChat } from '../kit/chat.ts'
import { type Child, startChild } from '../kit/children.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { withModel } from '../kit/model.ts'
import { median } from '../kit/stats.ts'

/** Each user starts a new conversation after about this number of turns, so that no request grows long. */
const perSession = 10

interface Side {
  readonly cpuMs: () => Promise<number>
  readonly chat: BenchChat
}

interface Sample {
  readonly cpu: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

export const load: Figure = {
  name: 'load',
  about: 'CPU per turn and turns per second with the official SDK, compared with a bare loop',
  measure: (options) =>
    withModel({ record: false }, (model) =>
      withChat((ours) =>
        withChat((bares) =>
          withGateway(
            {
              config: `platforms: { wire: { enabled: true, url: "${ours.url}", allow_from: [u1] } }`,
              modelUrl: model.baseUrl,
            },
            async (gateway) => {
              const bare = await startChild('./bare-child.ts', {
                args: [JSON.stringify({ chatUrl: bares.url, modelUrl: model.baseUrl })],
              })
              try {
                return await measured(gateway, ours, bare, bares, options)
              } finally {
                await bare.kill()
              }
            },
          ),
        ),
      ),
    ),
}

async function measured(
  gateway: BenchGateway,
  ours: BenchChat,
  bare: Child,
  bares: BenchChat,
  { full, progress }: BenchOptions,
): Promise<Row[]> {
  const sides: Record<'gateway' | 'bare', Side> = {
    gateway: { cpuMs: gateway.cpuMs, chat: ours },
    bare: { cpuMs: () => bare.request('cpu', {}, z.number()), chat: bares },
  }
  const rounds = full ? 8 : 4
  const size = full ? { one: 400, crowd: 3_200 } : { one: 200, crowd: 1_600 }
  const samples: Record<'gateway' | 'bare', Record<'one' | 'crowd', Sample[]>> = {
    gateway: { one: [], crowd: [] },
    bare: { one: [], crowd: [] },
  }
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`)
    for (const who of round % 2 === 0 ? (['gateway', 'bare'] as const) : (['bare', 'gateway'] as const)) {
      const one = await sample(sides[who], `one${round}`, 1, size.one)
      const crowd = await sample(sides[who], `crowd${round}`, 32, size.crowd)
      if (round === 0) continue
      samples[who].one.push(one)
      samples[who].crowd.push(crowd)
    }
  }
  progress('event loop')
  await gateway.request('delay:begin', {}, z.unknown())
  await sample(sides.gateway, 'delay', 32, size.crowd)
  const delay = await gateway.request('delay:end', {}, z.object({ p50: z.number(), p99: z.number(), max: z.number() }))

  const middle = (who: 'gateway' | 'bare', what: 'one' | 'crowd', field: keyof Sample) =>
    median(samples[who][what].map((one) => one[field]))
  const cpuRow = (what: 'one' | 'crowd', chats: string, bar?: number): Row => ({
    name: `CPU of a turn, official SDK, ${chats}`,
    measured: middle('gateway', what, 'cpu'),
    unit: 'ms',
    bar,
    baseline: { what: 'bare loop', value: middle('bare', what, 'cpu') },
  })
  const overRow = (what: 'one' | 'crowd', chats: string, bar: number): Row => ({
    name: `CPU of a turn above the bare loop, ${chats}`,
    measured: median(samples.gateway[what].map((one, at) => one.cpu - (samples.bare[what][at]?.cpu ?? Number.NaN))),
    unit: 'ms',
    bar,
  })
  const timeRow = (what: 'one' | 'crowd', chats: string, field: 'p50' | 'p99'): Row => ({
    name: `message to reply, ${chats}, ${field}`,
    measured: middle('gateway', what, field),
    unit: 'ms',
    baseline: { what: 'bare loop', value: middle('bare', what, field) },
  })
  return [
    cpuRow('one', '1 chat', 4),
    overRow('one', '1 chat', 2.5),
    cpuRow('crowd', '32 chats'),
    overRow('crowd', '32 chats', 1.2),
    {
      name: 'turns per second, 32 chats',
      measured: middle('gateway', 'crowd', 'perSecond'),
      unit: '/s',
      bar: 400,
      atLeast: true,
      baseline: { what: 'bare loop', value: middle('bare', 'crowd', 'perSecond') },
      note: 'synchronous=FULL; chat server and model share the cores',
    },
    timeRow('one', '1 chat', 'p50'),
    timeRow('one', '1 chat', 'p99'),
    timeRow('crowd', '32 chats', 'p50'),
    timeRow('crowd', '32 chats', 'p99'),
    {
      name: 'event loop delay, 32 chats, p99',
      measured: delay.p99,
      unit: 'ms',
      note: `p50 ${delay.p50.toFixed(1)}, longest ${delay.max.toFixed(1)} ms`,
    },
  ]
}

async function sample({ cpuMs, chat }: Side, run: string, chats: number, turns: number): Promise<Sample> {
  const before = await cpuMs()
  const done = await chat.load({ run, chats, turns, sessionsEach: Math.ceil(turns / chats / perSession) })
  const cpu = ((await cpuMs()) - before) / turns
  return { cpu, perSecond: turns / (done.ms / 1_000), p50: done.p50, p99: done.p99 }
}
