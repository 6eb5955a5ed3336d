import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createPatientFetch } from '../../../src/clients/batch/ask-prompt.ts'
import { openProgress } from '../../../src/clients/batch/progress.ts'
import { runPrompts } from '../../../src/clients/batch/run-prompts.ts'

const usage = { input_tokens: 10, output_tokens: 5 }

function progressOn(isTTY: boolean) {
  const errors = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns: 60 })
  let tick: () => void = () => undefined
  let now = 0
  const progress = openProgress({
    ...{ errors, total: 3, done: 1, failed: 0, clock: () => now },
    every(_ms, call) {
      tick = call
      return () => undefined
    },
  })
  return { progress, tick: () => tick(), pass: (ms: number) => (now += ms), text: () => String(errors.read() ?? '') }
}

test('a terminal gets one line that is drawn again and never wraps, and it is removed at the end', () => {
  const { progress, pass, text } = progressOn(true)
  progress.started()
  pass(2_000)
  progress.ended({ status: 'done', usage })
  progress.note('line 3: no')
  progress.close()
  const drawn = text().split('\r\u001b[K')
  assert.ok(drawn.every((line) => line.length < 60))
  assert.equal(drawn.filter((line) => line.includes('\n')).length, 1, 'only a note ends a line')
  assert.equal(drawn.at(-1), '')
})

test('elsewhere a line is written only when it is time', () => {
  const { progress, tick, pass, text } = progressOn(false)
  progress.started()
  pass(10_000)
  progress.ended({ status: 'failed', usage })
  assert.equal(text(), '')
  tick()
  assert.equal(text(), 'hermes: 1 of 3 done, 1 failed, 0 running, 1 waiting, 15 tokens, 10 s, about 10 s left\n')
  progress.close()
  assert.equal(text(), '')
})

test('a request is repeated while the gateway is busy or away, for a minute at most', async () => {
  let now = 0
  const delays: number[] = []
  const answers: (Response | Error)[] = []
  const request = createPatientFetch({
    clock: () => now,
    async sleep(ms) {
      delays.push(ms)
      now += ms
    },
    async fetch() {
      const answer = answers.shift() ?? new Response('busy', { status: 503 })
      if (answer instanceof Error) throw answer
      return answer
    },
  })
  answers.push(new Response('', { status: 429, headers: { 'retry-after': '7' } }), new TypeError('fetch failed'))
  answers.push(new Response('ok'))
  assert.equal(await (await request('http://x')).text(), 'ok')
  assert.equal(delays[0], 7_000)
  now = 1_000_000
  assert.equal((await request('http://x')).status, 503)
  assert.ok(now > 1_060_000 && now < 1_080_000, String(now))
  answers.push(new TypeError('fetch failed'))
  await assert.rejects(request('http://x'), TypeError)
})

test('a rejection ends the batch after the prompts that run, and names how many were not asked', async () => {
  const prompts = ['a', 'b', 'c', 'd'].map((id, index) => ({
    ...{ id, line: index + 1, text: id, system: '', toolsets: undefined, images: [], metadata: undefined, hash: id },
  }))
  const asked: string[] = []
  const run = async ({ id }: { readonly id: string }) => {
    asked.push(id)
    if (id === 'b') throw new Error('gone')
  }
  const { signal } = new AbortController()
  await assert.rejects(runPrompts({ prompts, concurrency: 1, run, stop: signal }), /gone/)
  assert.deepEqual(asked, ['a', 'b'])
  assert.equal(await runPrompts({ prompts, concurrency: 2, run, stop: AbortSignal.abort() }), 4)
})
