/**
 * The first view of the dashboard over 10,000 conversations, and what it costs the main thread.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { median } from '../kit/stats.ts'

export const dashboard: Figure = {
  name: 'dashboard',
  about: 'the first view of the dashboard over 10,000 conversations, and a change that it shows',
  measure: (options) =>
    withGateway({ config: 'platforms: { direct: { enabled: true } }' }, (gateway) => measured(gateway, options)),
}

/** What the first view asks for. */
const firstView = [
  '/api/status',
  '/api/approvals/pending',
  '/api/pairing',
  '/api/now',
  '/api/queue',
  '/api/queue?of=replies',
]

async function measured(gateway: BenchGateway, { full, progress }: BenchOptions): Promise<Row[]> {
  progress('writing 10,000 conversations')
  writeConversations(join(gateway.home, 'state.db'))
  const { url, token } = await gateway.address()
  const headers = { authorization: `Bearer ${token}` }
  const ask = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers })
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`)
    await answer.text()
  }
  const timeOf = async (paths: readonly string[]) => {
    const begun = performance.now()
    await Promise.all(paths.map(ask))
    return performance.now() - begun
  }
  await timeOf(firstView)
  const views: number[] = []
  const healths: number[] = []
  const told: number[] = []
  for (let round = 0; round < (full ? 40 : 15); round++) {
    views.push(await timeOf(firstView))
    healths.push(await timeOf(firstView.map(() => '/healthz')))
    told.push(await timeOfChange(url, headers))
  }
  return [
    {
      name: 'first view of the dashboard, 10,000 conversations, p50',
      measured: median(views),
      unit: 'ms',
      bar: 150,
      baseline: { what: 'as many requests that read nothing', value: median(healths) },
      note: 'its lists are read by a thread of their own',
    },
    { name: 'from a change to its line in the stream, p50', measured: median(told), unit: 'ms', bar: 1_000 },
  ]
}

async function timeOfChange(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const ended = new AbortController()
  const { body } = await fetch(`${url}/api/changes`, { headers, signal: ended.signal })
  if (body === null) throw new Error('no stream')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  await reader.read()
  const begun = performance.now()
  await fetch(`${url}/api/pause`, { method: 'POST', headers, body: '{"off":true}' })
  for (let read = await reader.read(); read.value?.includes('pause') === false; ) read = await reader.read()
  const ms = performance.now() - begun
  ended.abort()
  return ms
}

function writeConversations(database: string): void {
  const db = new DatabaseSync(database, { timeout: 10_000 })
  const lane = db.prepare('insert into lanes values (?, ?, 0, 0, ?, 1)')
  const session = db.prepare(
    `insert into sessions (id, session_key, platform, user_id, title, created_at, updated_at) values (?, ?, 'b', ?, '', 1, ?)`,
  )
  db.exec('begin immediate')
  for (let at = 0; at < 10_000; at++) {
    const source = { platform: 'b', account: 'default', chatType: 'dm', chatId: `c${at}`, userId: `u${at}` }
    lane.run(`k${at}`, `s${at}`, JSON.stringify(source))
    session.run(`s${at}`, `k${at}`, `u${at}`, at)
  }
  db.exec('commit')
  db.close()
}
