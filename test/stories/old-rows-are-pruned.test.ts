import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { enforceMediaCap } from '../../src/flows/lifecycle/media-cap.ts'
import { prune } from '../../src/flows/lifecycle/retention.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createOutbox } from '../../src/outbox/outbox.ts'
import { insertRow } from '../../src/outbox/queries.ts'
import { serializeAttachment } from '../../src/outbox/stored-attachment.ts'
import { recordAuxiliaryCall } from '../../src/sessions/auxiliary-calls.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation, rowsIn } from './support.ts'

const dayMs = 86_400_000

/** Runs the daily pruning as if `days` had passed. */
async function pruneAfter({ home }: TestGateway, days: number): Promise<void> {
  const clock = () => Date.now() + days * dayMs
  const store = createSqliteStore({ path: home.databaseFile })
  const outbox = createOutbox({
    store,
    sender: () => undefined,
    clock,
    random: () => 0,
    sleep: async () => undefined,
    log: silentLog,
    settings: () => assert.fail('nothing is sent'),
    failpoint: () => undefined,
  })
  const settings = { retention: { days: 30, media_days: 30 }, media: { max_total_mb: 1_000 } }
  await prune({ home, store, clock, log: silentLog, settings: () => settings }, outbox, new AbortController().signal)
  await store.close()
}

const tables = ['inbox', 'inbox_keys', 'outbox', 'turns', 'turn_inputs', 'tool_calls'] as const

function counts({ home }: TestGateway): number[] {
  return tables.map((table) => Number(rowsIn(home, `select count(*) as n from ${table}`)[0]?.['n']))
}

test('the oldest files are removed above the limit, except those that are young or needed', async (t) => {
  const gateway = await startTestGateway(t)
  const media = gateway.home.media
  mkdirSync(join(media, 'day'), { recursive: true })
  const ages = { 'day/needed.png': 9, 'oldest.png': 8, 'older.png': 7, 'newer.png': 6, 'young.png': 0 }
  for (const [name, days] of Object.entries(ages)) {
    writeFileSync(join(media, name), 'x'.repeat(1_000))
    const at = (Date.now() - days * dayMs) / 1_000
    utimesSync(join(media, name), at, at)
  }
  const store = createSqliteStore({ path: gateway.home.databaseFile })
  t.after(() => store.close())
  const attachment = serializeAttachment({
    kind: 'image',
    fileName: 'needed.png',
    mimeType: 'image/png',
    caption: '',
    source: { kind: 'file', path: join(media, 'day/needed.png') },
  })
  await store.run(() =>
    insertRow(
      {
        key: 'k',
        platform: 'other',
        account: 'default',
        chat_id: 'c',
        thread_id: '',
        session_key: null,
        turn_id: null,
        kind: 'reply',
        op: 'send',
        target: null,
        text: 'file',
        reply_to: null,
        attachment,
        buttons: null,
        state: 'queued',
        platform_id: null,
      },
      Date.now(),
    ),
  )
  const runtime = { home: gateway.home, store, clock: Date.now, log: silentLog }
  assert.equal(await enforceMediaCap(runtime, 5_000), 0)
  assert.equal(await enforceMediaCap(runtime, 3_500), 2)
  assert.deepEqual(readdirSync(media).sort(), ['day', 'newer.png', 'young.png'])
  assert.equal(await enforceMediaCap(runtime, 1), 1)
  assert.deepEqual(readdirSync(media).sort(), ['day', 'young.png'])
  assert.deepEqual(readdirSync(join(media, 'day')), ['needed.png'])
})

test('after thirty days completed rows, keys and files are removed, and the session is kept', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ toolCalls: [{ name: 'terminal', arguments: { command: 'true' } }] }, { text: 'done with the tool' }],
  })
  await gateway.say('use a tool')
  await gateway.waitForReply('done with the tool')
  await gateway.waitForLog({ event: 'outbox.delivered' })
  await gateway.stop()
  mkdirSync(gateway.home.media, { recursive: true })
  writeFileSync(join(gateway.home.media, 'new.png'), '')
  writeFileSync(join(gateway.home.media, 'old.png'), '')
  for (const day of ['2026-01-01', '2026-01-02']) {
    mkdirSync(join(gateway.home.media, day))
    for (const name of ['new.png', 'old.png']) writeFileSync(join(gateway.home.media, day, name), '')
  }
  rmSync(join(gateway.home.media, '2026-01-01', 'new.png'))
  for (const name of ['old.png', '2026-01-01/old.png', '2026-01-02/old.png', '2026-01-01']) {
    utimesSync(join(gateway.home.media, name), new Date(0), new Date(0))
  }

  await pruneAfter(gateway, 29)
  assert.deepEqual(counts(gateway), [1, 1, 1, 1, 1, 1])
  assert.deepEqual(readdirSync(gateway.home.media, { recursive: true }).sort(), [
    '2026-01-02',
    '2026-01-02/new.png',
    'new.png',
  ])
  await pruneAfter(gateway, 31)
  assert.deepEqual(counts(gateway), [0, 0, 0, 0, 0, 0])

  await (await gateway.start()).initialConnectsDone()
  await gateway.say('do you remember?')
  await gateway.waitForReply('do you remember?')
  assert.equal(conversation(gateway.model.requests.at(-1))[0], 'user: use a tool')
})

test('unanswered messages and undelivered replies are never pruned', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'never', hang: 'headers' }] })
  await gateway.say('unanswered', { chat: 'ada' })
  await gateway.modelRequest(0)
  gateway.platform.failNext('temporary')
  await gateway.say('undelivered', { chat: 'bob' })
  await gateway.waitForEvent('agent:end')
  await gateway.stop(AbortSignal.abort())
  await pruneAfter(gateway, 400)
  await gateway.start()
  await gateway.waitForReply('You said: unanswered', 'ada')
  await gateway.waitForReply('You said: undelivered', 'bob')
  assert.equal(gateway.model.requestCount, 3)
})

test('calls of models beside the conversation are forgotten one by one, and stay in the sums', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('hello')
  await gateway.waitForReply('hello')
  await gateway.stop()
  const [session] = rowsIn(gateway.home, 'select id, input_tokens as tokens from sessions')
  const store = createSqliteStore({ path: gateway.home.databaseFile })
  const usage = { inputTokens: 100, outputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0 }
  const call = { sessionId: String(session?.['id']), turnId: null, task: 'vision', provider: 'p', model: 'm', usage }
  await store.run(() => recordAuxiliaryCall(call, Date.now()))
  await store.close()
  const tokens = Number(session?.['tokens']) + 100
  const state = () => [
    rowsIn(gateway.home, 'select count(*) as n from auxiliary_calls')[0]?.['n'],
    rowsIn(gateway.home, 'select input_tokens as n from sessions')[0]?.['n'],
  ]
  assert.deepEqual(state(), [1, tokens])
  await pruneAfter(gateway, 31)
  assert.deepEqual(state(), [0, tokens])
})
