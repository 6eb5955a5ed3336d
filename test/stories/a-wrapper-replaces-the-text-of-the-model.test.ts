/**
 * A plugin wraps the model call and replaces its text: what users and clients see meanwhile.
 */
import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { at } from './support.ts'

const raw = 'The key is 1234, keep it well.'
const redacted = raw.replace('1234', '****')

interface WrapperOptions {
  /** Code of the options of the registration. */
  readonly options?: string
  readonly redacts?: boolean
  readonly waits?: boolean
  readonly hasDrafts?: boolean
}

/** A wrapper that `waits` returns when `release` is called. */
function withWrapper(
  t: TestContext,
  { options = '{}', redacts = true, waits = false, hasDrafts = true }: WrapperOptions,
): Promise<TestGateway> {
  const body = `
    ctx.registerIntercept('redact', 'model_execution', async (_call, next) => {
      const released = new Promise((resolve) => channel('test:release').subscribe(() => resolve()))
      const response = await next()
      ctx.log.info({ event: 'redact.waiting' }, 'response received')
      if (${waits}) await released
      return ${redacts} ? JSON.parse(JSON.stringify(response).replace('1234', '****')) : response
    }, ${options})`
  return startTestGateway(t, {
    replies: [{ text: raw }],
    capabilities: hasDrafts ? ['edit'] : [],
    config: { plugins: { enabled: ['redact'] }, streaming: { buffer_threshold: 4, edit_interval: 0 } },
    prepare: ({ plugins }) =>
      writeFiles(
        plugins,
        pluginFiles('redact', `const { channel } = process.getBuiltinModule('node:diagnostics_channel')${body}`),
      ),
  })
}

function release(): void {
  channel('test:release').publish({})
}

/** Releases the wrapper when a draft of the model's text would have been shown. */
async function releaseAfterDraft(gateway: TestGateway): Promise<void> {
  await gateway.waitForLog('"event":"redact.waiting"')
  // Requests take turns of the event loop with the draft, which starts without a delay.
  for (let turn = 0; turn < 3; turn += 1) await gateway.http('/readyz')
  release()
}

async function startStream(gateway: TestGateway): Promise<ReadableStreamDefaultReader<string>> {
  const messages = [{ role: 'user', content: 'which key?' }]
  const response = await gateway.post('/v1/chat/completions', { messages, stream: true })
  assert.ok(response.body !== null)
  return response.body.pipeThrough(new TextDecoderStream()).getReader()
}

/** The text of the streamed events until it is complete or contains `until`. */
async function readText(reader: ReadableStreamDefaultReader<string>, until?: string): Promise<string> {
  let received = ''
  for (;;) {
    const { done, value } = await reader.read()
    received += value ?? ''
    const events = received.split('\n').filter((line) => line.startsWith('data: {') && line.endsWith('}'))
    const deltas = events.map((line) => at(JSON.parse(line.slice('data: '.length)), 'choices', 0, 'delta', 'content'))
    const text = deltas.map((delta) => delta ?? '').join('')
    if (done || (until !== undefined && text.includes(until))) return text
  }
}

test('the stream of the API never contains the text that a wrapper replaces', async (t) => {
  const gateway = await withWrapper(t, { waits: true })
  const reader = await startStream(gateway)
  await releaseAfterDraft(gateway)
  assert.equal(await readText(reader), redacted)
})

test('the stream of the API has the text while it is written if the wrapper changes nothing', async (t) => {
  const gateway = await withWrapper(t, { options: "{ answers: 'unchanged' }", redacts: false, waits: true })
  const reader = await startStream(gateway)
  const first = await readText(reader, 'The key')
  release()
  assert.equal(first + (await readText(reader)), raw)
})

test('a chat shows the draft until the wrapper replaces it', async (t) => {
  const gateway = await withWrapper(t, { waits: true })
  await gateway.say('which key?')
  await gateway.until(({ text }) => text.includes('The key'))
  release()
  await gateway.until(({ text }) => text === redacted)
  assert.deepEqual(gateway.replies(), [redacted])
})

test('a chat never shows the text of the model if the wrapper declares that it replaces it', async (t) => {
  const gateway = await withWrapper(t, { options: "{ answers: 'replaced' }", waits: true })
  await gateway.say('which key?')
  await releaseAfterDraft(gateway)
  await gateway.until(({ text }) => text === redacted)
  const versions = gateway.platform.shown().flatMap((message) => message.versions)
  assert.deepEqual(
    versions.filter((text) => text.includes('1234')),
    [],
  )
})

test('a stopped turn does not send the text that no draft has shown and the wrapper has not passed on', async (t) => {
  const gateway = await withWrapper(t, { waits: true, hasDrafts: false })
  await gateway.say('which key?')
  await gateway.waitForLog('"event":"redact.waiting"')
  await gateway.say('/stop')
  await gateway.waitForEvent('agent:end')
  await gateway.waitForReply(/stop/i)
  assert.deepEqual(
    gateway.replies().filter((text) => text.includes('1234')),
    [],
  )
})
