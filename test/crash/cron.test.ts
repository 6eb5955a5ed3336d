/**
 * Kills the gateway while a scheduled job runs. Its time leads to one answer, and its script runs once at most.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startChatServer } from './chat-server.ts'
import { prepareHome, runUntilKilled, start, stop, waitForReady } from './scenario.ts'

const points = ['cron:due', 'cron:claimed', 'cron:accepted', 'turn:finished', 'cron:output', 'cron:delivered']
const scriptPoints = ['cron:script', 'cron:script-ended']

describe('a scheduled job survives a crash', { concurrency: 2 }, () => {
  for (const point of points) {
    test(`and answers once when it is killed at ${point}`, async (t) => {
      const { answers, record } = await runJob(t, point, {})
      assert.deepEqual(
        answers.map(withoutLabel),
        answers.map(() => 'There is news.'),
      )
      // A message that may have arrived before the crash is sent again with a label.
      const unlabelled = answers.filter((text) => text === withoutLabel(text))
      assert.ok(unlabelled.length <= 1, JSON.stringify(answers))
      assert.equal(record.repeat.completed, 1)
      assert.equal(record.last_status, 'ok')
    })
  }
  for (const point of scriptPoints) {
    test(`and does not start its script again when it is killed at ${point}`, async (t) => {
      const { answers, lines, record } = await runJob(t, point, { script: 'count.sh', no_agent: true })
      assert.equal(answers.length, 1)
      assert.equal(lines, point === 'cron:script' ? 0 : 1)
      assert.equal(record.last_status, 'error')
    })
  }
})

test('each second of a job leads to one message while the gateway is killed at any time, and no second one starts', {
  timeout: 120_000,
}, async (t) => {
  const { children, home, chat } = await prepare(t, {
    id: 'tick',
    schedule: { kind: 'cron', expr: '* * * * * *', display: '' },
    repeat: { times: 6, completed: 0 },
  })
  for (const [kill, delayMs] of [40, 170, 390].entries()) {
    const running = start(home, {}, children)
    await waitForReady(running)
    if (kill === 0) await assertRefused(start(home, {}, children))
    const before = chat.messages.length
    // At no particular step: after the next message, and some time.
    await chat.until((messages) => messages.length > before, 30_000)
    await setTimeout(delayMs)
    running.kill('SIGKILL')
  }
  const last = start(home, {}, children)
  await waitForReady(last)
  await untilCompleted(home, 'tick')
  await stop(last)
  const keys = rowsOf(home, "select key from inbox_keys where key like 'cron:tick:%'")
  assert.equal(keys.length, 6)
  const sent = rowsOf(home, "select distinct key from outbox where key like 'cron:tick:%'")
  assert.equal(sent.length, 6)
})

/** The lock of the home belongs to the first gateway. */
async function assertRefused(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'exit')
  assert.notEqual(code, 0)
}

async function untilCompleted(home: string, id: string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const [row] = rowsOf(home, `select record, slot from cron_jobs where id = '${id}'`)
    if (row?.['slot'] === null && JSON.parse(String(row['record'])).state === 'completed') return
    await setTimeout(50)
  }
}

function rowsOf(home: string, sql: string) {
  const database = new DatabaseSync(join(home, 'state.db'), { readOnly: true })
  try {
    return database.prepare(sql).all()
  } finally {
    database.close()
  }
}

interface JobRecord {
  readonly repeat: { readonly completed: number }
  readonly last_status: string
}

/** A home with a job. */
async function prepare(t: TestContext, fields: Readonly<Record<string, unknown>>) {
  const children = new Set<ChildProcess>()
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const chat = await startChatServer()
  const model = await startOpenAiServer({ defaultReply: () => ({ text: 'There is news.', delayMs: 1 }), record: false })
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })
  await prepareHome(home, chat.url, model.baseUrl)
  await Promise.all([mkdir(join(home, 'cron')), mkdir(join(home, 'scripts'))])
  const job = { prompt: 'Look', deliver: 'all', ...fields }
  await writeFile(join(home, 'cron', 'jobs.json'), JSON.stringify({ jobs: [job] }))
  return { children, home, chat }
}

async function runJob(t: TestContext, point: string, fields: Readonly<Record<string, unknown>>) {
  const missed = new Date(Date.now() - 150 * 60_000).toISOString()
  const schedule = { kind: 'interval', minutes: 60, display: 'every 1h' }
  const { children, home, chat } = await prepare(t, { id: 'news', schedule, next_run_at: missed, ...fields })
  const counted = join(home, 'counted')
  await writeFile(join(home, 'scripts', 'count.sh'), `echo ran >> '${counted}'\n`)
  await runUntilKilled(home, { killAt: point, killHit: 1 }, children)
  const restarted = start(home, {}, children)
  await waitForReady(restarted)
  await chat.until((messages) => messages.some(({ chat: name }) => name === 'home'), 30_000)
  await untilRecorded(home)
  await stop(restarted)
  const { jobs }: { readonly jobs: readonly [JobRecord] } = JSON.parse(
    readFileSync(join(home, 'cron', 'jobs.json'), 'utf8'),
  )
  return {
    answers: chat.messages.map(({ text }) => text),
    lines: existsSync(counted) ? readFileSync(counted, 'utf8').split('\n').length - 1 : 0,
    record: jobs[0],
  }
}

/** The message may have arrived before the crash, and the run goes on after the restart. */
async function untilRecorded(home: string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const [found] = rowsOf(home, 'select count(*) as open from cron_jobs where slot is not null')
    if (found?.['open'] === 0) return
    await setTimeout(50)
  }
}

function withoutLabel(text: string): string {
  return text.replace(/^.*May be a duplicate:\s*/, '')
}
