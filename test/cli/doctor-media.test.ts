import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { homeWith, runInProcess } from './support.ts'

async function findingsOf(t: TestContext, config: string, environment: Readonly<Record<string, string>> = {}) {
  const home = homeWith(t, `${config}\nhttp: {port: 0}\n`)
  const { stdout } = await runInProcess(home.root, ['doctor', '--json', '--offline'], { environment })
  const { findings }: { findings: { subject: string; state: string; text: string }[] } = JSON.parse(stdout)
  const found = findings.filter(({ subject }) => ['Hearing', 'Speech', 'Drawing'].includes(subject))
  return { home, found, states: found.map(({ state }) => state) }
}

test('doctor says who transcribes, speaks and draws', async (t) => {
  const key = 'sk-secret-0123456789'
  const { found, states } = await findingsOf(t, 'model: gpt-5', { OPENAI_API_KEY: key })
  assert.deepEqual(states, ['ok', 'ok', 'ok'])
  for (const { text } of found) assert.match(text, /api\.openai\.com/)
  assert.ok(!JSON.stringify(found).includes(key))
})

test('doctor and config check note what is configured and cannot work', async (t) => {
  const config = 'stt: {provider: edge}\ntts: {command: [no-such-program-xyz]}\nimage_gen: {provider: fal}'
  const { home, states } = await findingsOf(t, config)
  assert.deepEqual(states, ['note', 'note', 'note'])
  const { stdout } = await runInProcess(home.root, ['config', 'check'])
  assert.equal(stdout.match(/^note .*cannot be/gm)?.length, 3)
})

test('an installation without keys for them gets no advice', async (t) => {
  assert.deepEqual((await findingsOf(t, 'model: claude-sonnet-5')).states, ['ok', 'ok', 'ok'])
  assert.deepEqual((await findingsOf(t, 'voice: {auto_tts: true}')).states, ['ok', 'note', 'ok'])
})
