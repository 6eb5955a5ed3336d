/**
 * Telegram, Discord and Slack: from a message to the reply in the chat, with each local server, compared with a bare
 * bot of the same SDK. Both use the same instant model and run alternately in the same seconds.
 */
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type Child, startChild } from '../kit/children.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { median } from '../kit/stats.ts'
import { type BenchVendor, platformsConfig, withVendors } from '../kit/vendor.ts'
import { type VendorName, vendorNames } from '../kit/vendors.ts'

export const platforms: Figure = {
  name: 'platforms',
  about: 'Telegram, Discord and Slack, compared with a bare bot of the same SDK',
  async measure(options) {
    const rows: Row[] = []
    for (const name of vendorNames) rows.push(...(await measured(name, options)))
    return rows
  },
}

function measured(name: VendorName, options: BenchOptions): Promise<Row[]> {
  return withVendors([name, name], ([ours, bares]) => {
    if (ours === undefined || bares === undefined) throw new Error('two servers are required')
    const config = `${platformsConfig([ours])}streaming: { enabled: false }\n`
    return withGateway({ config, shipped: true }, async (gateway) => {
      const bare = await startChild(`../platforms/${name}-bare.ts`, { args: [JSON.stringify(bares.options)] })
      try {
        return await rowsOf({ name, gateway, ours, bare, bares }, options)
      } finally {
        await bare.kill()
      }
    })
  })
}

interface Sides {
  readonly name: VendorName
  readonly gateway: BenchGateway
  readonly ours: BenchVendor
  readonly bare: Child
  readonly bares: BenchVendor
}

interface Sample {
  readonly cpu: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly callsPerTurn: number
}

const crowds = [1, 8, 32] as const
type Who = 'gateway' | 'bare'

async function rowsOf({ name, gateway, ours, bare, bares }: Sides, { full, progress }: BenchOptions): Promise<Row[]> {
  const sides = {
    gateway: { vendor: ours, cpuMs: gateway.cpuMs },
    bare: { vendor: bares, cpuMs: () => bare.request('cpu', {}, z.number()) },
  }
  const rounds = full ? 6 : 2
  const turnsOf = (chats: number) => (full ? 4 : 1) * (chats === 1 ? 60 : chats * 12)
  const samples: { readonly who: Who; readonly chats: number; readonly sample: Sample }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    progress(`${name}: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`)
    for (const who of round % 2 === 0 ? (['gateway', 'bare'] as const) : (['bare', 'gateway'] as const)) {
      for (const chats of crowds) {
        const sample = await sampled(sides[who], chats, turnsOf(chats))
        if (round > 0) samples.push({ who, chats, sample })
      }
    }
  }

  const middle = (who: Who, chats: number, field: keyof Sample) =>
    median(samples.filter((one) => one.who === who && one.chats === chats).map(({ sample }) => sample[field]))
  const row = (what: string, chats: number, field: keyof Sample, unit: Row['unit']): Row => ({
    name: `${name}: ${what}, ${chats} ${chats === 1 ? 'chat' : 'chats'}`,
    measured: middle('gateway', chats, field),
    unit,
    baseline: { what: 'bare bot', value: middle('bare', chats, field) },
  })
  const calls = (who: Who, chats: number) => middle(who, chats, 'callsPerTurn').toFixed(1)
  return crowds.flatMap((chats) => [
    {
      ...row('message to reply, p50', chats, 'p50', 'ms'),
      note: `calls per turn ${calls('gateway', chats)}, bare bot ${calls('bare', chats)}${notes[name] ?? ''}`,
    },
    row('message to reply, p99', chats, 'p99', 'ms'),
    { ...row('turns per second', chats, 'perSecond', '/s'), atLeast: true },
    row('CPU of a turn', chats, 'cpu', 'ms'),
  ])
}

const notes: Partial<Record<VendorName, string>> = {
  discord: '; discord.js makes at most 50 calls a second, as Discord allows',
}

interface Side {
  readonly vendor: BenchVendor
  readonly cpuMs: () => Promise<number>
}

async function sampled({ vendor, cpuMs }: Side, chats: number, turns: number): Promise<Sample> {
  const before = await cpuMs()
  const { ms, p50, p99, callsPerTurn } = await vendor.load({ chats, turns, pauseMs: chats === 1 ? 25 : 0 })
  const cpu = ((await cpuMs()) - before) / turns
  // A single user does not write in the same millisecond. Only the number of turns per second needs that.
  const withoutPause = chats === 1 ? await vendor.load({ chats, turns, pauseMs: 0 }) : undefined
  return { cpu, perSecond: turns / ((withoutPause?.ms ?? ms) / 1_000), p50, p99, callsPerTurn }
}
