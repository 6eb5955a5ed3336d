import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openBatch } from '../../../src/clients/batch/batch-state.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { lockHome } from '../../../src/store/sqlite/lock.ts'
import { assertFailed, homeWith, quietConfig, runInProcess } from '../../cli/support.ts'
import type { ModelReply, RecordedRequest } from '../../kit/servers/model-script.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'

async function batchHome(t: TestContext, reply: (request: RecordedRequest) => ModelReply) {
  const model = await startOpenAiServer({ defaultReply: reply })
  t.after(() => model.stop())
  const home = homeWith(t, `${quietConfig}provider: openai\nmodel: m\nbase_url: ${model.baseUrl}\napi_key: none\n`)
  const file = (name: string) => join(home.root, name)
  return {
    model,
    out: file('out.jsonl'),
    file,
    write: (...lines: readonly unknown[]) =>
      writeFileSync(file('prompts.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
    run: (...words: readonly string[]) =>
      runInProcess(home.root, ['batch', 'run', file('prompts.jsonl'), '-o', file('out.jsonl'), ...words]),
  }
}

function readLines(path: string): Record<string, unknown>[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const texts = (path: string) => Object.fromEntries(readLines(path).map(({ id, text }) => [id, text]))

test('a batch answers each prompt in a conversation of its own, with its own system text, toolsets and metadata', async (t) => {
  const batch = await batchHome(t, ({ lastUserText: text }) => ({ text: `re ${text}` }))
  batch.write(
    { id: 'a', prompt: '/new', metadata: { level: 1 } },
    { id: 'b', prompt: 'two', system: 'Answer as a pirate.', toolsets: ['todo'] },
  )
  const { code, stdout, stderr } = await batch.run('--json')
  assert.equal(code, 0, stderr)
  const { done, failed, waiting, usage } = JSON.parse(stdout)
  assert.deepEqual([done, failed, waiting, usage.input_tokens > 0], [2, 0, 0, true])
  assert.deepEqual(texts(batch.out), { a: 're /new', b: 're two' })
  assert.deepEqual(readLines(batch.out).find(({ id }) => id === 'a')?.['metadata'], { level: 1 })
  const requestOf = (text: string) => batch.model.requests.find(({ lastUserText }) => lastUserText === text)?.body
  assert.match(JSON.stringify(requestOf('two')?.['messages']), /Answer as a pirate/)
  assert.doesNotMatch(JSON.stringify(requestOf('/new')?.['messages']), /pirate/)
  assert.match(JSON.stringify(requestOf('two')?.['tools']), /"todo"/)
  assert.doesNotMatch(JSON.stringify(requestOf('two')?.['tools']), /"terminal"/)
})

test('a failed prompt does not stop the others, and --retry-failed asks only it again', async (t) => {
  let isBroken = true
  const batch = await batchHome(t, ({ lastUserText: text }) =>
    text === 'bad' && isBroken
      ? { error: { status: 400, body: { error: { message: 'no' } } } }
      : { text: `re ${text}` },
  )
  batch.write({ id: '__proto__', prompt: 'bad' }, { id: 'good', prompt: 'good' })
  const first = await batch.run()
  assert.equal(first.code, 1, first.stderr)
  assert.deepEqual(
    readLines(batch.out)
      .map(({ id, status }) => [id, status])
      .sort(),
    [
      ['__proto__', 'failed'],
      ['good', 'done'],
    ],
  )
  const asked = batch.model.requestCount
  assert.equal((await batch.run()).code, 1)
  assert.equal(batch.model.requestCount, asked, 'a failed prompt is asked again only on request')
  isBroken = false
  assert.equal((await batch.run('--retry-failed')).code, 0)
  assert.equal(batch.model.requestCount, asked + 1)
  assert.deepEqual(
    readLines(batch.out)
      .map(({ id, attempt }) => [id, attempt])
      .sort(),
    [
      ['__proto__', 2],
      ['good', 1],
    ],
  )
})

test('prompts that were changed since they were answered are noticed, and asked again only on request', async (t) => {
  const batch = await batchHome(t, ({ lastUserText: text }) => ({ text: `re ${text}` }))
  batch.write({ id: 'a', prompt: 'one' }, { id: 'b', prompt: 'two' })
  assert.equal((await batch.run()).code, 0)
  batch.write({ id: 'a', prompt: 'uno' }, { id: 'b', prompt: 'two' }, { id: 'c', prompt: 'three' })
  assertFailed(await batch.run(), 'cli/usage', '1 prompts', ': a.')
  assert.deepEqual(texts(batch.out), { a: 're one', b: 're two' })
  assert.equal((await batch.run('--rerun-changed')).code, 0)
  batch.write({ id: 'a', prompt: 'uno' }, { id: 'b', prompt: 'dos' })
  // What is not asked again now keeps its result.
  assert.equal((await batch.run('--rerun-changed', '--limit', '1')).code, 0)
  assert.deepEqual(texts(batch.out), { a: 're uno', b: 're two', c: 're three' })
  assert.equal(batch.model.requestCount, 4)
})

test('broken lines are reported and make the exit code 1; with --strict nothing is sent', async (t) => {
  const batch = await batchHome(t, () => ({ text: 'ok' }))
  batch.write({ id: 'a', prompt: 'one' }, { prompt: 7 }, { id: 'c', prompt: 'three' })
  assertFailed(await batch.run('--strict'), 'cli/usage', ':2: ')
  assert.equal(existsSync(batch.out), false)
  const { code, stderr } = await batch.run()
  assert.equal(code, 1)
  assert.match(stderr, /prompts\.jsonl:2: /)
  assert.deepEqual(texts(batch.out), { a: 'ok', c: 'ok' })
})

test('a file that is no result of a batch, a toolset that does not exist and a missing picture are refused clearly', async (t) => {
  const batch = await batchHome(t, () => ({ text: 'ok' }))
  batch.write(
    { id: 'a', prompt: 'one' },
    { id: 'b', prompt: 'look', image: 'missing.png' },
    { prompt: 'with', toolsets: ['nope'] },
  )
  writeFileSync(batch.out, 'my notes\n')
  assertFailed(await batch.run(), 'cli/usage')
  assert.equal(readFileSync(batch.out, 'utf8'), 'my notes\n')
  rmSync(batch.out)
  assertFailed(await batch.run('-t', 'wbe'), 'cli/not-found', 'web')
  assertFailed(await batch.run('--concurrency', '0'), 'cli/usage')
  const { code, stderr } = await batch.run()
  assert.equal(code, 1)
  assert.match(stderr, /missing\.png/)
  assert.match(stderr, /line 3: .*nope/)
  assert.deepEqual(
    readLines(batch.out)
      .map(({ id, status }) => [id, status])
      .sort(),
    [
      ['a', 'done'],
      ['b', 'failed'],
    ],
  )
})

test('results on a device, behind a link to nothing, or in a file with another purpose are refused before anything is written or sent', async (t) => {
  const batch = await batchHome(t, () => ({ text: 'x' }))
  batch.write({ id: 'a', prompt: 'one' })
  const target = batch.file('device')
  symlinkSync('/dev/null', target)
  assertFailed(await batch.run('--out', target), 'cli/usage')
  assert.throws(() => openBatch('/dev/zero', lockHome), { code: 'cli/usage' })
  for (const [out, trajectories] of [
    ['same', 'same'],
    ['prompts.jsonl', 'other'],
    ['one', 'prompts.jsonl'],
    ['one', 'one.state'],
  ] as const) {
    const files = ['--out', batch.file(out), '--trajectories', batch.file(trajectories)]
    assertFailed(await batch.run(...files), 'cli/usage')
  }
  symlinkSync(batch.file('nothing'), batch.file('link'))
  assertFailed(await batch.run('--out', batch.file('link')), 'cli/usage')
  assert.equal(existsSync(batch.file('nothing')), false)
  assert.equal(batch.model.requests.length, 0)
})

test('two batches never write the same results, and deleted results begin a new batch', (t) => {
  const home = homeWith(t)
  const out = join(home.root, 'out.jsonl')
  const first = openBatch(out, lockHome)
  assert.throws(
    () => openBatch(out, lockHome),
    (error) => isHermesError(error, 'cli/usage'),
  )
  first.tryAgain(['x'])
  first.release()
  const again = openBatch(out, lockHome)
  assert.deepEqual([again.batch, again.attemptOf('x'), again.attemptOf('y')], [first.batch, 2, 1])
  again.release()
  rmSync(out)
  const other = openBatch(out, lockHome)
  assert.notEqual(other.batch, first.batch)
  assert.equal(other.attemptOf('x'), 1)
  other.release()
})

test('trajectories hold what was said and done, without the prompt around it, also for prompts that were answered before', async (t) => {
  const batch = await batchHome(t, ({ lastUserText: text, body }) =>
    JSON.stringify(body['messages']).includes('call_0')
      ? { text: `done with ${text}` }
      : { text: 'First a list.', toolCalls: [{ name: 'todo', arguments: '{}' }], reasoning: 'It needs a list.' },
  )
  batch.write({ id: 'a', prompt: 'plan', system: 'SECRET INSTRUCTIONS', metadata: { source: 'test' } })
  assert.equal((await batch.run()).code, 0)
  for (const _ of ['fetched', 'not written twice'])
    assert.equal((await batch.run('--trajectories', batch.file('t.jsonl'))).code, 0)
  const [line, ...others] = readLines(batch.file('t.jsonl'))
  assert.deepEqual(others, [])
  assert.ok(line !== undefined)
  const { conversations, tool_stats, ...rest } = line
  assert.doesNotMatch(JSON.stringify(line), /SECRET/)
  assert.ok(Array.isArray(conversations))
  assert.deepEqual(
    conversations.map(({ from }) => from),
    ['human', 'gpt', 'tool', 'gpt'],
  )
  const [human, call, response, answer] = conversations.map(({ value }) => value)
  assert.equal(human, 'plan')
  assert.equal(
    call,
    '<think>\nIt needs a list.\n</think>\nFirst a list.\n<tool_call>\n{"name":"todo","arguments":{}}\n</tool_call>',
  )
  assert.match(
    response,
    /^<tool_response>\n\{"tool_call_id":"call_0","name":"todo","content":.*\}\n<\/tool_response>$/s,
  )
  assert.equal(answer, '<think>\n</think>\ndone with plan')
  assert.deepEqual(Object(tool_stats)['todo'], { count: 1, success: 1, failure: 0 })
  assert.deepEqual(Object(tool_stats)['terminal'], { count: 0, success: 0, failure: 0 })
  assert.deepEqual([rest['prompt_index'], rest['completed'], rest['partial'], rest['api_calls']], [0, true, false, 2])
  assert.equal(Object(rest['metadata'])['source'], 'test')
})
