import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runInProcess } from '../cli/support.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation, hasResult, rowsIn, runCommand, terminalCall } from './support.ts'

const filler = 'and more words of it '.repeat(40)
/** An exchange has 430 tokens, so that before the fifth one half of the window (2,075 tokens) is exceeded. */
const small = { context_length: 4_150, compression: { protect_last_n: 1, target_ratio: 0.4 } }

const tooLong: ModelReply = {
  error: { status: 400, body: { error: { code: 'context_length_exceeded', message: 'too long' } } },
}

const asksForSummary = ({ lastUserText }: RecordedRequest) => lastUserText.includes('Write the record now')

function answer(request: RecordedRequest): ModelReply {
  if (asksForSummary(request)) return { text: '## Goal\nA garden of roses.' }
  return { text: `Heard ${request.lastUserText.slice(0, 12)} ${filler}` }
}

/** The messages of each model request as JSON, without requests for summaries. */
function sent(gateway: TestGateway): string[] {
  return gateway.model.requests
    .filter((request) => !asksForSummary(request))
    .map(({ body }) => JSON.stringify(body['messages']))
}

async function talk(gateway: TestGateway, from: number, to: number): Promise<void> {
  for (let at = from; at <= to; at++) {
    await gateway.say(`message ${at} ${filler}`)
    await gateway.waitForReply(`Heard message ${at}`)
  }
}

test('requests keep their prefix byte by byte until the threshold is exceeded and the middle is replaced by a summary', async (t) => {
  let records = 0
  const gateway = await startTestGateway(t, {
    config: small,
    model: (request) => (asksForSummary(request) ? { text: `record number ${++records}` } : answer(request)),
  })
  await talk(gateway, 1, 8)

  const requests = sent(gateway)
  const recordIn = (request: string) => /record number \d/.exec(request)?.[0]
  assert.deepEqual([...new Set(requests.map(recordIn))], [undefined, 'record number 1', 'record number 2'])
  for (const [at, request] of requests.entries()) {
    const next = requests[at + 1]
    if (next === undefined) break
    const isSame = next.startsWith(request.slice(0, -1))
    assert.equal(isSame, recordIn(next) === recordIn(request), `request ${at + 1} and the one after it`)
  }
  const [prompt, first, second] = requests.map((request) => request.split('},{'))[0] ?? []
  assert.ok(prompt !== undefined && first !== undefined && second === undefined)
  for (const request of requests) {
    assert.ok(
      request.startsWith(`${prompt}},{${first.slice(0, -2)}`),
      'the system prompt and the first exchange are kept',
    )
  }

  const last = conversation(gateway.model.requests.findLast((request) => !asksForSummary(request)))
  assert.match(last[2] ?? '', /^user: \[Record of the earlier conversation.*\n\nrecord number 2$/)
  const roles = last.map((line) => line.split(':', 1)[0])
  assert.deepEqual(
    roles,
    roles.map((_, at) => (at % 2 === 0 ? 'user' : 'assistant')),
  )
})

test('session:compress is emitted after the commit; the session keeps its id and its messages', async (t) => {
  const onDisk: unknown[] = []
  const gateway: TestGateway = await startTestGateway(t, {
    model: answer,
    config: small,
    gateway: {
      listeners: [
        (name) => {
          if (name !== 'session:compress') return
          onDisk.push(...rowsIn(gateway.home, 'select is_summary from messages where is_summary = 1'))
        },
      ],
    },
  })
  await talk(gateway, 1, 5)
  await gateway.stop()
  assert.equal(onDisk.length, 1)

  const sessions = rowsIn(gateway.home, 'select id, parent_id from sessions')
  assert.equal(sessions.length, 1)
  const texts = rowsIn(gateway.home, `select content from messages where role = 'user' and is_summary = 0 order by ord`)
  assert.deepEqual(
    texts.map(({ content }) => String(content).slice(0, 9)),
    ['message 1', 'message 2', 'message 3', 'message 4', 'message 5'],
  )
  const found = rowsIn(
    gateway.home,
    `select superseded from messages where id in (select rowid from messages_fts where messages_fts match 'message AND 2')`,
  )
  assert.ok(
    found.some(({ superseded }) => superseded === 1),
    'superseded messages are still searchable',
  )
})

test('session:compress counts the compressions and has the documented keys', async (t) => {
  const gateway = await startTestGateway(t, { model: answer, config: small })
  await talk(gateway, 1, 8)
  const start = await gateway.waitForEvent('session:start')
  const { context } = await gateway.waitForEvent('session:compress', { compression_count: 2 })
  assert.deepEqual(context, {
    platform: 'fake',
    session_id: start.context['session_id'],
    old_session_id: '',
    in_place: true,
    compression_count: 2,
  })
})

test('superseded messages are still shown in order, marked and searchable', async (t) => {
  const gateway = await startTestGateway(t, { model: answer, config: small })
  await talk(gateway, 1, 5)
  const { context } = await gateway.waitForEvent('session:compress')
  await gateway.stop()
  const { stdout } = await runInProcess(gateway.home.root, ['sessions', 'show', String(context['session_id'])])
  const shown = stdout.split('\n').filter((line) => /^(user|summary|assistant) |^message \d|^## Goal/.test(line))
  const marks = shown.map((line) => line.replace(/ {2}\d.*?(?= {2}|$)/, '').slice(0, 60))
  // The text of the mark may change.
  const superseded = (role: string) => new RegExp(`^${role} {2}\\(.+\\)$`)
  assert.match(marks[3] ?? '', superseded('user'))
  assert.equal(marks[4], `message 2 ${filler}`.slice(0, 60))
  assert.match(marks[5] ?? '', superseded('assistant'))
  assert.match(marks[6] ?? '', superseded('user'))
  assert.equal(marks[7], `message 3 ${filler}`.slice(0, 60))
  assert.ok(marks.indexOf('summary') > marks.indexOf(`message 3 ${filler}`.slice(0, 60)))
  const found = await runInProcess(gateway.home.root, ['sessions', 'search', 'message', '2'])
  assert.match(found.stdout, /«message» «2»/)
})

test('a background task is compressed without an event', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { platforms: { fake: { home_channel: 'home' } } },
    prepare: ({ hooks }) => {
      const folder = join(hooks, 'starter')
      mkdirSync(folder, { recursive: true, mode: 0o755 })
      writeFileSync(join(folder, 'HOOK.yaml'), 'events: gateway:startup\n')
      writeFileSync(
        join(folder, 'handler.js'),
        `export const handle = (event, context, { gateway }) => gateway.startAgent('look', { deliver: 'fake:home' })`,
      )
    },
    model: ({ body }) => {
      const messages = JSON.stringify(body['messages'])
      if (messages.length > 9_000) return tooLong
      if (messages.includes('Old tool output cleared')) return { text: 'made it' }
      return terminalCall('seq 1 800')
    },
  })
  await gateway.waitForReply('made it', 'home')
  await gateway.stop()
  assert.ok(!gateway.events.some(({ name }) => name === 'session:compress'))
  assert.equal(rowsIn(gateway.home, 'select id from messages where superseded = 1').length, 1)
})

test('a context overflow during a turn compresses the session, and the turn completes', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { compression: { protect_last_n: 1 } },
    model: (request) => {
      if (asksForSummary(request)) return { text: 'the record' }
      if (JSON.stringify(request.body['messages']).length > 12_000) return tooLong
      if (!request.lastUserText.startsWith('work')) return answer(request)
      return hasResult(request) ? { text: 'the work is done' } : terminalCall('seq 1 1200')
    },
  })
  await talk(gateway, 1, 3)
  await gateway.say('work')
  await gateway.waitForReply('the work is done')
  const [first, second] = gateway.events.filter(({ name }) => name === 'session:compress')
  assert.equal(first?.context['compression_count'], 1)
  assert.equal(second, undefined)
  const last = conversation(gateway.model.requests.at(-1))
  assert.match(last.join('\n'), /the record/)
  assert.match(last.at(-1) ?? '', /^tool: .*1200/, 'the newest tool result is kept')
})

test('a conversation that the provider rejects as too long is answered without a summary, too', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { compression: { protect_last_n: 1 }, agent: { max_retries: 0 } },
    model: (request) => {
      if (asksForSummary(request)) return { error: { status: 500 } }
      return JSON.stringify(request.body['messages']).length > 9_000 ? tooLong : answer(request)
    },
  })
  // The second rejection comes while summaries rest.
  await talk(gateway, 1, 12)
  const last = conversation(gateway.model.requests.at(-1))
  assert.match(last.join('\n'), /\(\d+ older messages are left out here/)
  assert.ok(gateway.model.requests.filter(asksForSummary).length <= 2)
})

test('/compress compresses at once with a focus, and reports the token counts', async (t) => {
  const gateway = await startTestGateway(t, {
    model: answer,
    config: { context_length: 16_000, compression: { protect_last_n: 1 } },
  })
  await gateway.say('/compress')
  await gateway.waitForReply(/nothing to compress/i)
  await talk(gateway, 1, 6)
  assert.ok(!gateway.events.some(({ name }) => name === 'session:compress'))
  await gateway.say('/compact the roses')
  await gateway.waitForReply(/Compressed: this conversation had about [\d,]+ tokens, now it has [\d,]+\./)
  await gateway.waitForEvent('session:compress', { compression_count: 1 })
  await gateway.waitForEvent('command:compress', { raw_command: 'compact', args: 'the roses' })
  const request = gateway.model.requests.find(asksForSummary)
  assert.match(request?.lastUserText ?? '', /Keep above all what concerns this: "the roses"/)
  await gateway.say('/compress')
  await gateway.waitForReply(/nothing to compress.*short/i)
  await talk(gateway, 7, 7)
  assert.match(conversation(gateway.model.requests.at(-1)).join('\n'), /A garden of roses/)
})

test('/compress waits for the running turn, and later messages wait for the summary', async (t) => {
  const go = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    config: { context_length: 16_000, compression: { protect_last_n: 1 } },
    model: (request) =>
      request.lastUserText === 'slow' ? { text: 'slowly', gate: () => go.promise } : answer(request),
  })
  await talk(gateway, 1, 6)
  await gateway.say('slow')
  await gateway.modelRequest(6)
  await gateway.say('/compress')
  await gateway.waitForReply('I will compress this conversation as soon as I am done.')
  await gateway.say('after it')
  go.resolve()
  await gateway.waitForReply('Heard after it')
  assert.match(conversation(gateway.model.requests.at(-1)).join('\n'), /A garden of roses/)
  const replies = gateway.replies().map((text) => text.slice(0, 10))
  assert.deepEqual(replies.slice(-3), ['slowly', 'Compressed', 'Heard afte'])
})

test('a failed summary keeps the session, logs one warning and is not retried for a minute', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { ...small, agent: { max_retries: 0 } },
    model: (request) => (asksForSummary(request) ? { error: { status: 500 } } : answer(request)),
  })
  await talk(gateway, 1, 6)
  assert.equal(gateway.model.requests.filter(asksForSummary).length, 1)
  assert.equal(gateway.log.filter((line) => line.includes('session.compression_failed')).length, 1)
  assert.equal(conversation(gateway.model.requests.at(-1)).length, 11)
  assert.ok(!gateway.events.some(({ name }) => name === 'session:compress'))
  await gateway.say('/compress')
  await gateway.waitForReply('The conversation could not be compressed')
})

test('a stop between the summary and its commit changes nothing, and the next start compresses again', async (t) => {
  let failures = 1
  const gateway = await startTestGateway(t, {
    model: answer,
    config: small,
    gateway: {
      failpoint(point) {
        if (point !== 'compression:summarised' || failures-- <= 0) return
        seen.push(...rowsIn(gateway.home, 'select id from messages where superseded <> 0 or is_summary <> 0'))
        failed.resolve(gateway.stop(AbortSignal.abort()))
      },
    },
  })
  const seen: unknown[] = []
  const failed = Promise.withResolvers<void>()
  await talk(gateway, 1, 4)
  await gateway.say(`message 5 ${filler}`)
  await failed.promise
  assert.deepEqual(seen, [])
  await gateway.start()
  await gateway.waitForReply('Heard message 5')
  assert.equal(rowsIn(gateway.home, 'select count(*) as n from messages where is_summary = 1')[0]?.['n'], 1)
})

test('a turn that resumes after a stop uses the compressed session', async (t) => {
  let hangs = true
  const gateway = await startTestGateway(t, {
    config: small,
    model: (request) => {
      if (asksForSummary(request) || !request.lastUserText.startsWith('message 5') || !hangs) return answer(request)
      return { text: 'x', hang: 'headers' }
    },
  })
  await talk(gateway, 1, 4)
  await gateway.say(`message 5 ${filler}`)
  await gateway.modelRequest(5)
  await gateway.stop(AbortSignal.abort())
  hangs = false
  await gateway.start()
  await gateway.waitForReply('Heard message 5')
  const [before, after] = sent(gateway).slice(-2)
  assert.match(before ?? '', /A garden of roses/)
  assert.equal(after, before)
})

test('with compression.enabled: false only /compress compresses', async (t) => {
  const gateway = await startTestGateway(t, {
    model: answer,
    config: { context_length: 4_000, compression: { ...small.compression, enabled: false } },
  })
  await talk(gateway, 1, 6)
  assert.equal(gateway.model.requests.filter(asksForSummary).length, 0)
  await gateway.say('/compress')
  await gateway.waitForReply('Compressed')
})

test('the model of the summary can be configured by the current and by the older key', async (t) => {
  const { compression } = small
  const keys = [
    { compression: { ...compression, summary_model: 'cheap', threshold_percent: 50 } },
    { compression, auxiliary: { compression: { model: 'cheap', provider: 'auto' }, vision: { model: 'eyes' } } },
  ]
  for (const more of keys) {
    const gateway = await startTestGateway(t, { model: answer, config: { ...small, ...more } })
    await talk(gateway, 1, 5)
    await gateway.waitForEvent('session:compress')
    const models = gateway.model.requests.map((request) => `${asksForSummary(request)} ${request.body['model']}`)
    assert.deepEqual([...new Set(models)].sort(), ['false test-model', 'true cheap'])
  }
})

test('/undo reaches back to the summary and explains why it goes no further', async (t) => {
  const gateway = await startTestGateway(t, { config: small, model: answer })
  await talk(gateway, 1, 6)
  const [, , summarised] = rowsIn(gateway.home, 'select ord from messages where is_summary = 1 and superseded = 0')
  assert.equal(summarised, undefined, 'there is one summary')
  const reply = await runCommand(gateway, '/undo 50')
  assert.match(reply, /summar/)
  assert.match(await runCommand(gateway, '/undo'), /nothing[\s\S]*summar/)
  assert.match(await runCommand(gateway, '/retry'), /summar/)
  await gateway.say('go on')
  await gateway.waitForReply('Heard go on')
  const messages = conversation(gateway.model.requests.at(-1))
  assert.match(messages.join('\n'), /message 1 [\s\S]*A garden of roses[\s\S]*user: go on$/)
  assert.doesNotMatch(messages.join('\n'), /message 6/)
})
