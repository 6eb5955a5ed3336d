/**
 * This checkout beside another one, which `--with` names: a commit or a folder. Both daemons run at the same time, and each round
 * measures them in turn (A B, then B A), so that the noise of the machine meets both.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BenchOptions, Figure, Row, Unit } from '../figure.ts'
import { ownCheckout, withCheckout } from '../kit/checkout.ts'
import { killProcess } from '../kit/children.ts'
import { type ComparedDaemon, type DaemonStart, withComparedDaemon, withStarts } from '../kit/compared-daemon.ts'
import { median, quantile } from '../kit/stats.ts'

export const compare: Figure = {
  name: 'compare',
  about: 'this checkout beside another one: --with <commit or folder>',
  async measure(options) {
    const { other } = options
    if (other === undefined) return []
    return await withCheckout(other, (folder) =>
      withModelUrl(async (modelUrl) => [
        ...(await compareTurns(folder, modelUrl, options)),
        ...(await compareStarts(folder, options)),
      ]),
    )
  },
}

interface Sampled {
  readonly name: string
  readonly unit: Unit
  readonly atLeast?: boolean
  readonly value: number
}

type Work = (daemon: ComparedDaemon, scale: number) => Promise<readonly Sampled[]>

const works: readonly Work[] = [
  (daemon, scale) => telegramTurns(daemon, 32, 320 * scale),
  (daemon, scale) => telegramTurns(daemon, 8, 120 * scale),
  (daemon, scale) => httpTurns(daemon, 'without a session', 160 * scale, () => undefined),
  (daemon, scale) => httpTurns(daemon, 'with a session', 160 * scale, (client) => `compare-${client}`),
  (daemon, scale) => httpTurns(daemon, 'with a tool call', 96 * scale, (client) => `tool-${client}`, 'use a tool'),
]

type Side = 'own' | 'other'

async function compareTurns(folder: string, modelUrl: string, { full, progress }: BenchOptions): Promise<Row[]> {
  return await withComparedDaemon(ownCheckout, modelUrl, (own) =>
    withComparedDaemon(folder, modelUrl, async (other) => {
      const daemons = { own, other }
      const scale = full ? 2 : 1
      const samples = await alternate({ full, progress }, 'turns', works, (side, work) => work(daemons[side], scale))
      progress('memory')
      await pause(15_000)
      const resident = (daemon: ComparedDaemon): Sampled => ({
        name: 'resident memory 15 s after the turns',
        unit: 'MB',
        value: daemon.rssMb(),
      })
      return rowsOf([...samples.own, resident(own)], [...samples.other, resident(other)])
    }),
  )
}

async function compareStarts(folder: string, options: BenchOptions): Promise<Row[]> {
  return await withStarts(ownCheckout, (own) =>
    withStarts(folder, async (other) => {
      const starts = { own, other }
      const samples = await alternate(options, 'starts', [sampledStart], async (side, sampled) =>
        sampled(await starts[side]()),
      )
      return rowsOf(samples.own, samples.other)
    }),
  )
}

/** Does each work with both sides in each round. The first round only warms up. */
async function alternate<Work>(
  { full, progress }: Pick<BenchOptions, 'full' | 'progress'>,
  what: string,
  works: readonly Work[],
  measure: (side: Side, work: Work) => Promise<readonly Sampled[]>,
): Promise<Readonly<Record<Side, readonly Sampled[]>>> {
  const rounds = full ? 12 : 6
  const samples: Record<Side, Sampled[]> = { own: [], other: [] }
  for (let round = 0; round <= rounds; round += 1) {
    progress(round === 0 ? `${what}, warm-up` : `${what}, round ${round} of ${rounds}`)
    const sides: readonly Side[] = round % 2 === 0 ? ['own', 'other'] : ['other', 'own']
    for (const work of works) {
      for (const side of sides) {
        const sampled = await measure(side, work)
        if (round > 0) samples[side].push(...sampled)
      }
    }
  }
  return samples
}

function sampledStart({ readyMs, readyCpuMs }: DaemonStart): Sampled[] {
  return [
    { name: 'ready', unit: 'ms', value: readyMs },
    { name: 'CPU to ready', unit: 'ms', value: readyCpuMs },
  ]
}

async function telegramTurns(daemon: ComparedDaemon, chats: number, turns: number): Promise<Sampled[]> {
  const before = daemon.cpuMs()
  const { ms } = await daemon.telegram.load({ chats, turns, pauseMs: 0 })
  return sampledTurns(`Telegram, ${chats} chats`, turns, ms, daemon.cpuMs() - before)
}

async function httpTurns(
  daemon: ComparedDaemon,
  what: string,
  turns: number,
  sessionOf: (client: number) => string | undefined,
  text = 'answer me',
): Promise<Sampled[]> {
  const clients = 32
  const [before, begun] = [daemon.cpuMs(), performance.now()]
  const run = async (client: number) => {
    for (let turn = client; turn < turns; turn += clients) await daemon.ask(text, sessionOf(client))
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client)))
  return sampledTurns(`HTTP, ${clients} clients ${what}`, turns, performance.now() - begun, daemon.cpuMs() - before)
}

function sampledTurns(name: string, turns: number, ms: number, cpuMs: number): Sampled[] {
  return [
    { name: `${name}: turns per second`, unit: '/s', atLeast: true, value: turns / (ms / 1_000) },
    { name: `${name}: CPU of a turn`, unit: 'ms', value: cpuMs / turns },
  ]
}

/** The medians, and the spread of the ratios of single rounds. */
function rowsOf(own: readonly Sampled[], other: readonly Sampled[]): Row[] {
  const others = Map.groupBy(other, ({ name }) => name)
  return [...Map.groupBy(own, ({ name }) => name)].flatMap(([name, samples]): Row[] => {
    const [first] = samples
    const theirs = (others.get(name) ?? []).map(({ value }) => value)
    if (first === undefined) return []
    const ratios = samples.map(({ value }, round) => value / (theirs[round] ?? Number.NaN))
    const spread = [0.1, 0.9].map((share) => quantile(ratios, share).toFixed(2)).join(' to ')
    return [
      {
        name,
        unit: first.unit,
        atLeast: first.atLeast === true,
        measured: median(samples.map(({ value }) => value)),
        baseline: { what: 'other checkout', value: median(theirs) },
        ...(samples.length > 1 && { note: `ratio in single rounds ${spread}` }),
      },
    ]
  })
}

async function withModelUrl<T>(work: (modelUrl: string) => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('../kit/tool-model.ts', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] },
  })
  try {
    const [port] = await once(child.stdout, 'data')
    return await work(`http://127.0.0.1:${String(port).trim()}/v1`)
  } finally {
    await killProcess(child)
  }
}
