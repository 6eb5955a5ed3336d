/**
 * The own share of the gateway in a turn: from the accepted message to the reply that its platform receives, durable,
 * with a model that responds at once inside the process.
 */
import { join } from 'node:path'
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { fdatasyncTimes } from '../kit/disk.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { median, quantile } from '../kit/stats.ts'
import { walContents } from '../kit/wal.ts'

const clockedSchema = z.object({
  ms: z.number(),
  clocked: z.array(z.object({ first: z.boolean(), accepted: z.number(), answered: z.number() })),
})

const config = 'platforms: { direct: { enabled: true } }'

export const turn: Figure = {
  name: 'turn',
  about: 'own share of a turn, its commits and its CPU, with an instant model',
  measure: (options) => withGateway({ config }, (gateway) => measured(gateway, options)),
}

function turns(gateway: BenchGateway, load: { run: string; chats: number; turns: number; pauseMs: number }) {
  return gateway.request('turns', { perSession: 10, ...load }, clockedSchema)
}

async function measured(gateway: BenchGateway, { full, progress }: BenchOptions): Promise<Row[]> {
  const rounds = full ? 8 : 4
  const perRound = full ? 400 : 200
  progress('warm-up')
  await turns(gateway, { run: 'warm', chats: 4, turns: 400, pauseMs: 0 })
  const commits = await commitsPerTurn(gateway)

  const clocked: z.infer<typeof clockedSchema>['clocked'] = []
  const syncs: number[] = []
  const cpu: number[] = []
  for (let round = 0; round < rounds; round++) {
    progress(`one chat, round ${round + 1} of ${rounds}`)
    syncs.push(...fdatasyncTimes(100))
    const before = await gateway.cpuMs()
    // Long enough for the receipt of the last reply: a user does not write in the same millisecond.
    const done = await turns(gateway, { run: `own${round}`, chats: 1, turns: perRound, pauseMs: 3 })
    cpu.push(((await gateway.cpuMs()) - before) / perRound)
    clocked.push(...done.clocked)
  }
  progress('32 chats')
  const before = await gateway.cpuMs()
  const crowd = await turns(gateway, { run: 'crowd', chats: 32, turns: perRound * 8, pauseMs: 0 })
  const crowdCpu = ((await gateway.cpuMs()) - before) / (perRound * 8)

  const answered = clocked.filter(({ first }) => !first).map((one) => one.answered)
  const first = clocked.filter((one) => one.first).map((one) => one.answered)
  const accepted = clocked.map((one) => one.accepted)
  const sync = quantile(syncs, 0.5)
  const floor = { what: '4 × fdatasync', value: 4 * sync }
  const answeredNote = `${answered.length} turns, 3 ms between them; fdatasync p50 ${sync.toFixed(2)}, p99 ${quantile(syncs, 0.99).toFixed(2)} ms; 1.2 ms + 4 × fdatasync = ${(1.2 + 4 * sync).toFixed(2)} ms`
  return [
    {
      name: 'own share of a turn, p50',
      measured: median(answered),
      unit: 'ms',
      bar: 2,
      baseline: floor,
      note: answeredNote,
    },
    { name: 'own share of a turn, p99', measured: quantile(answered, 0.99), unit: 'ms', bar: 10, baseline: floor },
    {
      name: 'own share of the first turn of a session, p50',
      measured: median(first),
      unit: 'ms',
      baseline: { what: 'a later turn', value: median(answered) },
    },
    {
      name: 'accepted on disk, p50',
      measured: median(accepted),
      unit: 'ms',
      baseline: { what: 'fdatasync', value: sync },
    },
    {
      name: 'commits of a turn',
      measured: commits.later.commits,
      unit: 'commits',
      bar: 4,
      note: `${commits.later.pages} pages`,
    },
    {
      name: 'commits of the first turn of a session',
      measured: commits.first.commits,
      unit: 'commits',
      note: `${commits.first.pages} pages; the end stores the system prompt, too`,
    },
    { name: 'CPU of a turn, instant model, 1 chat', measured: median(cpu), unit: 'ms', bar: 2.5 },
    {
      name: 'CPU of a turn, instant model, 32 chats',
      measured: crowdCpu,
      unit: 'ms',
      note: `${Math.round((perRound * 8) / (crowd.ms / 1000))} turns/s`,
    },
  ]
}

/**
 * The writes of one turn, read from the write-ahead log. The median of several, because a checkpoint restarts the log.
 */
async function commitsPerTurn(gateway: BenchGateway) {
  const wal = join(gateway.home, 'state.db-wal')
  const one = async (run: string) => {
    const before = walContents(wal)
    await turns(gateway, { run, chats: 1, turns: 1, pauseMs: 50 })
    const after = walContents(wal)
    return { commits: after.commits - before.commits, pages: after.pages - before.pages }
  }
  const firsts = []
  const laters = []
  for (let sample = 0; sample < 7; sample++) {
    firsts.push(await one(`count${sample}`))
    laters.push(await one(`count${sample}`))
  }
  const middle = (counts: readonly { commits: number; pages: number }[]) => ({
    commits: median(counts.map(({ commits }) => commits)),
    pages: median(counts.map(({ pages }) => pages)),
  })
  return { first: middle(firsts), later: middle(laters) }
}
