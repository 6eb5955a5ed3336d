/**
 * The search of earlier conversations over 100,000 messages while turns run, and what it costs those turns; then pages of the JSON
 * API.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import type { ReadRequest } from '../../../src/api/handlers/read-sessions.ts'
import { createReaderThread } from '../../../src/store/sqlite/reader-thread.ts'
import { createRecall } from '../../../src/store/sqlite/recall.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { median, quantile } from '../kit/stats.ts'

const clockedSchema = z.object({ clocked: z.array(z.object({ answered: z.number() })) })

export const recall: Figure = {
  name: 'recall',
  about: 'session_search over 100,000 messages while turns run, and pages of the JSON API',
  measure: (options) =>
    withGateway({ config: 'platforms: { direct: { enabled: true } }' }, (gateway) => measured(gateway, options)),
}

async function measured(gateway: BenchGateway, { full, progress }: BenchOptions): Promise<Row[]> {
  const database = join(gateway.home, 'state.db')
  const turns = async (run: string) => {
    const load = { run, chats: 1, turns: full ? 800 : 300, perSession: 10, pauseMs: 3 }
    const { clocked } = await gateway.request('turns', load, clockedSchema)
    return clocked.map(({ answered }) => answered)
  }
  progress('writing 100,000 messages')
  await turns('warm')
  writeMessages(database)
  const alone: number[] = []
  const beside: number[] = []
  const searches: number[] = []
  for (let round = 0; round < (full ? 4 : 2); round++) {
    progress(`round ${round + 1}`)
    alone.push(...(await turns(`alone${round}`)))
    const stop = new AbortController()
    const searching = search(database, stop.signal)
    beside.push(...(await turns(`beside${round}`)))
    stop.abort()
    searches.push(...(await searching))
  }
  return [
    {
      name: 'session_search, 100,000 messages, p50',
      measured: median(searches),
      unit: 'ms',
      bar: 20,
      note: `${searches.length} searches, p99 ${quantile(searches, 0.99).toFixed(1)} ms`,
    },
    {
      name: 'turns beside searches, p99',
      measured: quantile(beside, 0.99),
      unit: 'ms',
      baseline: { what: 'turns alone, p99', value: quantile(alone, 0.99) },
      note: `p50 ${median(beside).toFixed(2)} ms, alone ${median(alone).toFixed(2)} ms`,
    },
    ...(await pages(database)),
  ]
}

/** Pages of the JSON API: one session with 100,000 messages, and a search over all sessions. */
async function pages(database: string): Promise<Row[]> {
  writeLongSession(database)
  const reader = createReaderThread(new URL('../../../src/api/handlers/reader-thread.ts', import.meta.url))
  const never = new AbortController().signal
  const time = async (request: ReadRequest) => {
    const begun = performance.now()
    await reader.ask({ database, request }, never)
    return performance.now() - begun
  }
  const page = (ord: number): ReadRequest => ({
    ...{ kind: 'messages', session: 'long', filter: { all: false }, direction: 'older', limit: 50 },
    from: { ord, id: 0 },
  })
  const [first, deep, found]: [number[], number[], number[]] = [[], [], []]
  await time(page(longSession))
  for (let at = 0; at < 40; at++) {
    first.push(await time(page(longSession)))
    deep.push(await time(page(1_000 + at)))
    found.push(await time({ kind: 'sessions', filter: { search: `word${2_000 + at * 7}` }, limit: 50 }))
  }
  return [
    {
      name: 'API, page of 50 at the far end of 100,000 messages, p50',
      measured: median(deep),
      unit: 'ms',
      bar: 50,
      baseline: { what: 'the newest page', value: median(first) },
    },
    {
      name: 'API, search of sessions over 200,000 messages, p50',
      measured: median(found),
      unit: 'ms',
      bar: 250,
      note: `p99 ${quantile(found, 0.99).toFixed(1)} ms`,
    },
  ]
}

const longSession = 100_000

function writeLongSession(database: string): void {
  const db = new DatabaseSync(database, { timeout: 10_000 })
  db.exec('begin immediate')
  db.exec(`insert into sessions (id, session_key, platform, user_id, title, created_at, updated_at)
    values ('long', 'k0', 'b', '', 'long', 1, 1)`)
  db.exec(`with recursive n (ord) as (select 0 union all select ord + 1 from n where ord < ${longSession - 1})
    insert into messages (session_id, turn_id, ord, role, content, created_at)
    select 'long', 't', ord, iif(ord % 2 = 0, 'user', 'assistant'), 'message ' || ord, ord from n`)
  db.exec('commit')
  db.close()
}

const people = 50
const vocabulary = Array.from({ length: 5_000 }, (_, at) => `word${at}`)

/** A thousand conversations with a hundred messages each. Frequent words are frequent, as in a language. */
function writeMessages(database: string): void {
  const db = new DatabaseSync(database, { timeout: 10_000 })
  const lane = db.prepare('insert into lanes values (?, ?, 0, 0, ?, 1)')
  const session = db.prepare(
    `insert into sessions (id, session_key, platform, user_id, title, created_at, updated_at) values (?, ?, 'b', '', '', 1, ?)`,
  )
  const message = db.prepare(
    'insert into messages (session_id, turn_id, ord, role, content, created_at) values (?, ?, ?, ?, ?, ?)',
  )
  db.exec('begin immediate')
  for (let at = 0; at < 1_000; at++) {
    const source = { platform: 'b', account: 'default', chatType: 'dm', chatId: `c${at}`, userId: `u${at % people}` }
    lane.run(`k${at}`, `s${at}`, JSON.stringify(source))
    session.run(`s${at}`, `k${at}`, at)
    for (let ord = 0; ord < 100; ord++) {
      const words = Array.from({ length: 40 }, (_, word) => wordOf(at * 100 + ord, word))
      message.run(`s${at}`, 't', ord, ord % 2 === 0 ? 'user' : 'assistant', words.join(' '), at * 100 + ord)
    }
  }
  db.exec(`insert into messages_fts (rowid, content) select id, content from messages
    where id > coalesce((select max(id) from messages_fts_docsize), 0) and content <> ''`)
  db.exec('commit')
  db.close()
}

function wordOf(message: number, word: number): string {
  const spread = ((message * 7_919 + word * 104_729) % 10_007) / 10_007
  return vocabulary[Math.floor(spread ** 3 * vocabulary.length)] ?? ''
}

/** Searches until the signal aborts, with a pause after each. Resolves with the durations. */
async function search(database: string, signal: AbortSignal): Promise<number[]> {
  const { read } = createRecall(database)
  const times: number[] = []
  const never = new AbortController().signal
  const direct = { platform: 'b', account: 'default', userId: 'u1' }
  const base = { kind: 'discover', current: 's1', roles: 'user,assistant', sort: 'relevance', limit: 3 } as const
  await read({ ...base, scope: { sessionKey: 'k1', direct }, query: 'word1' }, never)
  for (let at = 0; !signal.aborted; at++) {
    const query =
      [`word${(at * 37) % 500}`, `word${at % 5_000} word${(at * 11) % 900}`, `word${4_000 + at}`][at % 3] ?? ''
    const begun = performance.now()
    await read({ ...base, scope: { sessionKey: 'k1', direct }, query }, never)
    times.push(performance.now() - begun)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return times
}
