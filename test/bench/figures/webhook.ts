/**
 * How long the sender of an event waits for its acknowledgement, which follows what is on disk, at fifty events per second.
 */
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { startChild } from '../kit/children.ts'
import { withGateway } from '../kit/gateway.ts'
import { withHome } from '../kit/home.ts'
import { median, quantile } from '../kit/stats.ts'

const secret = 'a-secret-of-the-sender'
const perSecond = 50
/** `ci`: a turn for each event. `wait`: events that are combined, and worked on later. */
const config = `platforms:
  webhook:
    enabled: true
    secret: ${secret}
    rate_limit: 1000000
    routes: { ci: { prompt: "{title}" }, wait: { coalesce: { key: subject }, prompt: "{title}" } }
`

export const webhook: Figure = {
  name: 'webhook',
  about: 'from an event of another service to its durable acknowledgement, at 50 per second',
  measure: (options) =>
    withGateway({ config, shipped: true }, async (gateway) => {
      const { url } = await gateway.address()
      return await measured(url, join(gateway.home, 'state.db'), options)
    }),
}

async function measured(url: string, database: string, { full, progress }: BenchOptions): Promise<Row[]> {
  const seconds = full ? 60 : 12
  progress('warm-up')
  await send(`${url}/webhooks/ci`, 'warm', 2)
  progress('a turn for each event')
  const turns = await send(`${url}/webhooks/ci`, 'turn', seconds)
  progress('events that are combined')
  const combined = await send(`${url}/webhooks/wait`, 'wait', seconds)
  progress('bare')
  const bare = await measureBare(seconds)
  const stored = countRows(database, "select count(*) as count from inbox_keys where key like 'webhook:ci:turn%'")
  const kept = countRows(
    database,
    "select count(*) as count from deferred_deliveries where key like 'webhook:wait:wait%'",
  )
  const count = perSecond * seconds
  const baseline = { what: 'bare fastify with a commit', value: quantile(bare, 0.99) }
  const note = (times: readonly number[]) => `p50 ${median(times).toFixed(1)} ms, ${times.length} events`
  return [
    {
      ...{ name: 'acknowledgement of an event with a turn, 50/s, p99', unit: 'ms', bar: 250, baseline },
      ...{ measured: quantile(turns, 0.99), note: note(turns) },
    },
    {
      ...{ name: 'acknowledgement of an event that is combined, 50/s, p99', unit: 'ms', bar: 250, baseline },
      ...{ measured: quantile(combined, 0.99), note: note(combined) },
    },
    {
      ...{ name: 'acknowledged events that are not on disk', unit: 'events', bar: 0 },
      measured: 2 * count - Math.min(count, stored) - Math.min(count, kept),
    },
  ]
}

/** Sends at a fixed rate, whether or not earlier events were answered. Resolves with the times to their answers, ms. */
async function send(url: string, run: string, seconds: number): Promise<number[]> {
  const begun = performance.now()
  const answers: Promise<number>[] = []
  for (let number = 0; number < perSecond * seconds; number++) {
    await sleep(Math.max(0, begun + (number * 1_000) / perSecond - performance.now()))
    answers.push(sendOne(url, `${run}-${number}`))
  }
  return await Promise.all(answers)
}

async function sendOne(url: string, id: string): Promise<number> {
  const body = JSON.stringify({ title: `The build ${id} is broken`, subject: id, repository: { full_name: 'a/b' } })
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const begun = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body,
  })
  await response.arrayBuffer()
  if (response.status !== 202) throw new Error(`the event ${id} was answered with ${response.status}`)
  return performance.now() - begun
}

function measureBare(seconds: number): Promise<number[]> {
  return withHome('', async (home) => {
    const child = await startChild('./webhook-child.mjs', { args: [join(home, 'bare.db'), secret] })
    try {
      const url = await child.request('address', {}, z.string())
      await send(`${url}/webhooks/ci`, 'warm', 2)
      return await send(`${url}/webhooks/ci`, 'bare', seconds)
    } finally {
      await child.kill()
    }
  })
}

function countRows(path: string, sql: string): number {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return Number(db.prepare(sql).get()?.['count'])
  } finally {
    db.close()
  }
}
