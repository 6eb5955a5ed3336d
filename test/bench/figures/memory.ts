/**
 * Memory over many turns and, on request, over minutes, with the official SDK and the V8 flags of the daemon.
 */
import { setTimeout } from 'node:timers/promises'
import { fastUsers, maxRssMb, quietMs } from '../../proof/soak/run.ts'
import { withSoakDaemon } from '../../proof/soak/with-daemon.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchChat, withChat } from '../kit/chat.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { withModel } from '../kit/model.ts'
import { cpuMsOf } from '../kit/proc.ts'
import { slope } from '../kit/stats.ts'

type Work = (gateway: BenchGateway, chat: BenchChat, options: BenchOptions) => Promise<Row[]>

function underLoad(work: Work): Figure['measure'] {
  return (options) =>
    withModel({ record: false }, (model) =>
      withChat((chat) =>
        withGateway(
          {
            config: `platforms: { wire: { enabled: true, url: "${chat.url}", allow_from: [u1] } }`,
            modelUrl: model.baseUrl,
          },
          (gateway) => work(gateway, chat, options),
        ),
      ),
    )
}

export const memory: Figure = {
  name: 'memory',
  about: 'memory between the first and the last of many turns over 1,000 sessions',
  measure: underLoad(async (gateway, chat, { full, progress }) => {
    const [from, to] = full ? [1_000, 10_000] : [500, 3_000]
    const sessions = Math.ceil(1_000 / 32)
    const idle = await gateway.memory()
    progress(`to ${from} turns`)
    await chat.load({ run: 'm', chats: 32, turns: from, sessionsEach: sessions })
    const early = await gateway.memory()
    progress(`to ${to} turns`)
    await chat.load({ run: 'm', chats: 32, turns: to - from, sessionsEach: sessions })
    const late = await gateway.memory()
    const span = `${from.toLocaleString('en')} to ${to.toLocaleString('en')} turns`
    const shape = full ? '' : ' (shorter than the 1,000 to 10,000 of the design: --full)'
    return [
      {
        name: `resident memory, ${span}`,
        measured: late.rss - early.rss,
        unit: 'MB',
        bar: 30,
        note: `${idle.rss.toFixed(0)} idle, ${early.rss.toFixed(0)}, ${late.rss.toFixed(0)} MB; 32 chats at full speed${shape}`,
      },
      {
        name: `heap after collection, ${span}`,
        measured: late.heap - early.heap,
        unit: 'MB',
        bar: 5,
        note: `${idle.heap.toFixed(1)} idle, ${early.heap.toFixed(1)}, ${late.heap.toFixed(1)} MB; external ${late.external.toFixed(1)} MB`,
      },
    ]
  }),
}

const loadTurns = 10_000

export const loaded: Figure = {
  name: 'loaded',
  about: 'memory of a daemon as `npm start` runs it, after 10,000 turns at full speed',
  measure: ({ progress }) =>
    withSoakDaemon(1, async ({ daemon, people, take }) => {
      const idle = take()
      const cpuBefore = cpuMsOf(daemon.pid)
      progress(`${loadTurns} turns`)
      await people.writeFast(loadTurns, fastUsers)
      const cpu = (cpuMsOf(daemon.pid) - cpuBefore) / loadTurns
      const peak = take()
      progress('15 seconds without messages')
      await setTimeout(quietMs)
      const late = take()
      if (people.failures.length > 0) throw new Error(`${people.failures.length} unanswered: ${people.failures[0]}`)
      return [
        {
          name: `resident memory after ${loadTurns.toLocaleString('en')} turns`,
          measured: late.rss,
          unit: 'MB',
          bar: maxRssMb,
          baseline: { what: 'idle', value: idle.rss },
          note: `200 users, ${fastUsers} turns at the same time, ${cpu.toFixed(2)} ms of CPU per turn; ${peak.rss.toFixed(0)} MB at their end, ${quietMs / 1_000} s before the measurement`,
        },
      ]
    }),
}

export const soak: Figure = {
  name: 'soak',
  about: 'growth over time under a light load (--soak=<minutes>)',
  measure: underLoad(async (gateway, chat, { soakMinutes, progress }) => {
    if (soakMinutes === 0) {
      return [{ name: 'growth over hours', unit: 'MB/h', bar: 1, note: 'requires --soak=<minutes>' }]
    }
    // Compiled code and the type feedback of V8 grow for thousands of turns and then stay constant.
    progress('warm-up')
    await chat.load({ run: 'warm', chats: 8, turns: 5_000, sessionsEach: 60 })
    const begun = performance.now()
    const hours = () => (performance.now() - begun) / 3_600_000
    const samples: { at: number; rss: number; heap: number }[] = []
    while (hours() * 60 < soakMinutes) {
      // 8 users with about 20 turns a second in total, for 10 seconds, in new conversations each time: a conversation
      // that grows for hours would make its requests grow, which is not measured here.
      await chat.load({ run: `s${samples.length}`, chats: 8, turns: 200, sessionsEach: 3, pauseMs: 400 })
      const { rss, heap } = await gateway.memory()
      samples.push({ at: hours(), rss, heap })
      progress(`${(hours() * 60).toFixed(1)} min: ${rss.toFixed(1)} MB resident, ${heap.toFixed(2)} MB heap`)
    }
    // Caches fill during the first third.
    const settled = samples.slice(Math.floor(samples.length / 3))
    const growth = (field: 'rss' | 'heap') => slope(settled.map((one) => [one.at, one[field]] as const))
    const note = `${samples.length} samples in ${soakMinutes} min, slope of the last two thirds; ${samples[0]?.rss.toFixed(1)} → ${samples.at(-1)?.rss.toFixed(1)} MB resident`
    return [
      { name: 'growth, resident memory', measured: growth('rss'), unit: 'MB/h', bar: 1, note },
      { name: 'growth, heap after collection', measured: growth('heap'), unit: 'MB/h' },
    ]
  }),
}
