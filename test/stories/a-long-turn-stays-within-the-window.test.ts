import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation, rowsIn } from './support.ts'

const windowTokens = 24_000
const asksForSummary = ({ lastUserText }: RecordedRequest) => lastUserText.includes('Write the record now')

/** Counts like the tokenizer of this test: a token for four characters of ASCII, and one for each other character. */
function tokensOf(request: RecordedRequest): number {
  const text = [request.body['messages'], request.body['tools']].map((part) => JSON.stringify(part)).join('')
  const foreign = text.match(/[^\0-\x7f]/g)?.length ?? 0
  return Math.ceil((text.length - foreign) / 4) + foreign
}

/** A model that calls tools in a turn `calls` times. Its server refuses what is longer than the window. */
async function gatewayWith(
  t: TestContext,
  {
    calls,
    counts,
    reply,
    config = {},
  }: { calls: number; counts: boolean; reply: (at: number) => ModelReply; config?: object },
): Promise<{ gateway: TestGateway; sizes: number[]; summaries: () => number }> {
  const sizes: number[] = []
  let called = 0
  let summaries = 0
  const gateway = await startTestGateway(t, {
    config: { context_length: windowTokens, agent: { max_identical_calls: 0 }, ...config },
    model: (request) => {
      const size = tokensOf(request)
      sizes.push(size)
      const usage = counts ? { usage: { input: size, output: 20 } } : {}
      if (asksForSummary(request)) {
        summaries += 1
        return { text: `record ${summaries}`, ...usage }
      }
      if (!request.lastUserText.startsWith('work') && called === 0) return { text: 'noted', ...usage }
      called += 1
      return called > calls ? { text: 'the work is done', ...usage } : { ...reply(called), ...usage }
    },
  })
  return { gateway, sizes, summaries: () => summaries }
}

/** A call that reads 40 lines, and another 40 in each iteration. */
const reads =
  (path: string) =>
  (at: number): ModelReply => ({ toolCalls: [{ name: 'read_file', arguments: { path, offset: at, limit: 40 } }] })

/** In the working directory, because the length of an absolute path would count. A file of lines of a thousand characters, or fewer of a script whose characters are tokens. */
function writeLongFile({ home }: TestGateway, character = 'x', chars = 1_000): void {
  const lines = Array.from({ length: 100 }, (_, at) => `${at} ${character.repeat(chars)}`)
  writeFileSync(join(home.root, 'long.txt'), lines.join('\n'))
}

test('a turn with many long results never exceeds the window, whether the provider counts tokens or not', async (t) => {
  for (const counts of [true, false]) {
    const { gateway, sizes } = await gatewayWith(t, {
      calls: 8,
      counts,
      reply: (at) => reads('long.txt')(at),
    })
    if (counts) writeLongFile(gateway)
    else writeLongFile(gateway, '漢', 270)
    await gateway.say('work')
    await gateway.waitForReply('the work is done')
    assert.ok(Math.max(...sizes) <= windowTokens, `${counts}: ${Math.max(...sizes)}`)
    assert.ok(Math.max(...sizes) >= windowTokens / 3, 'the newest results are kept')
    const last = conversation(gateway.model.requests.at(-1))
    assert.match(last.find((one) => one.startsWith('user:')) ?? '', /work/, 'the message of the turn stays')
    assert.equal(last.filter((one) => one.startsWith('tool:')).length, 8, 'every call keeps its result')
    await gateway.stop()
  }
})

test('long calls of the turn itself are summarised, except the newest, and its usage is counted once', async (t) => {
  const { gateway, sizes, summaries } = await gatewayWith(t, {
    calls: 7,
    counts: true,
    reply: (at) => ({
      toolCalls: [
        {
          name: 'todo',
          arguments: {
            todos: [{ id: `${at}`, content: 'x'.repeat(900), status: 'pending' }],
            note: 'y'.repeat(12_000),
          },
        },
      ],
    }),
  })
  await gateway.say('work')
  await gateway.waitForReply('the work is done')
  assert.ok(Math.max(...sizes) <= windowTokens, `${Math.max(...sizes)}`)
  assert.ok(summaries() >= 1)
  const last = conversation(gateway.model.requests.at(-1))
  assert.match(last.join('\n'), /record \d/)
  const total = rowsIn(gateway.home, 'select input_tokens as input from sessions')[0]?.['input']
  assert.equal(
    total,
    sizes.reduce((sum, size) => sum + size, 0),
  )
})

test('results that are too long even alone are shortened, and the turn goes on', async (t) => {
  const { gateway, sizes } = await gatewayWith(t, {
    calls: 2,
    counts: true,
    reply: (at) => ({
      toolCalls: Array.from({ length: 4 }, (_, index) => ({
        name: 'read_file',
        arguments: { path: 'long.txt', offset: at * 4 + index, limit: 45 },
      })),
    }),
  })
  writeLongFile(gateway)
  await gateway.say('work')
  await gateway.waitForReply('the work is done')
  assert.ok(Math.max(...sizes) <= windowTokens, `${Math.max(...sizes)}`)
})

test('a gateway that ends after a compression within a turn goes on with the short conversation, and repeats no call', async (t) => {
  for (const point of ['compression:summarised', 'compression:stored-in-turn', 'agent:compressed']) {
    let ends = 1
    const ended = Promise.withResolvers<void>()
    const gateway: TestGateway = await startTestGateway(t, {
      config: { context_length: windowTokens },
      model: (request) => {
        if (asksForSummary(request)) return { text: 'the record' }
        const results = conversation(request).filter((one) => one.startsWith('tool:')).length
        return results < 4 ? reads('long.txt')(results + 1) : { text: 'the work is done' }
      },
      gateway: {
        failpoint(reached) {
          if (reached !== point || ends-- <= 0) return
          ended.resolve(gateway.stop(AbortSignal.abort()))
        },
      },
    })
    writeLongFile(gateway)
    await gateway.say('work')
    await ended.promise
    await gateway.start()
    await gateway.waitForReply('the work is done')
    const largest = Math.max(...gateway.model.requests.map(tokensOf))
    assert.ok(largest <= windowTokens, `${point}: ${largest}`)
    const calls = rowsIn(gateway.home, `select tool_call_id as id from messages where role = 'tool' and superseded = 0`)
    assert.equal(calls.length, 4, point)
    await gateway.stop()
  }
})

test('without a compression every request begins with the bytes of the one before it', async (t) => {
  const { gateway } = await gatewayWith(t, {
    calls: 4,
    counts: true,
    reply: (at) => ({
      toolCalls: [{ name: 'todo', arguments: { todos: [{ id: `${at}`, content: 'a', status: 'pending' }] } }],
    }),
  })
  await gateway.say('work')
  await gateway.waitForReply('the work is done')
  const sent = gateway.model.requests.map(({ body }) => JSON.stringify(body['messages']))
  assert.equal(sent.length, 5)
  for (const [at, request] of sent.entries())
    assert.ok((sent[at + 1] ?? request).startsWith(request.slice(0, -1)), `${at}`)
})

const sentences =
  '今天我们在花园里种了一些新的玫瑰，还修好了旧的木栅栏。明天早上请提醒我给它们浇水，并且检查一下去年买的肥料是否还够用。'

/** Counts like a server: 1.3 tokens for an ideograph, and a third of a token for another character. */
function tokensOfChinese({ body }: RecordedRequest): number {
  const text = JSON.stringify([body['messages'], body['tools']])
  const ideographs = text.match(/[\u3000-\u9fff]/g)?.length ?? 0
  return Math.ceil(ideographs * 1.3 + (text.length - ideographs) / 3)
}

const uselessSummaries: readonly ((request: RecordedRequest) => ModelReply)[] = [
  ({ lastUserText }) => ({ text: lastUserText }),
  () => ({ text: ' ' }),
  () => ({ error: { status: 400, body: { error: { message: 'no' } } } }),
]

test('every request fits the window whatever the summary is: the oldest part is left out, and the conversation says so', async (t) => {
  const sizes: number[] = []
  let summaries = 0
  const gateway = await startTestGateway(t, {
    config: { context_length: 12_000, agent: { max_retries: 0 } },
    model(request) {
      const input = tokensOfChinese(request)
      const usage = { input, output: 400 }
      if (asksForSummary(request)) {
        summaries += 1
        return { ...uselessSummaries[summaries % uselessSummaries.length]?.(request), usage }
      }
      sizes.push(input)
      if (input > 12_000) return { error: { status: 400, body: { error: { code: 'context_length_exceeded' } } } }
      return { text: `第${sizes.length}次：${sentences.repeat(8)}`, usage }
    },
  })
  for (let at = 1; at <= 16; at++) {
    await gateway.say(`第${at}个消息：${sentences.repeat(8)}`)
    await gateway.waitForReply(`第${at}次`)
  }
  assert.ok(Math.max(...sizes) <= 12_000, sizes.join())
  assert.equal(sizes.length, 16, 'no request had to be repeated')
  assert.ok(summaries >= uselessSummaries.length)
  const last = conversation(gateway.model.requests.findLast((request) => !asksForSummary(request)))
  assert.match(last.join('\n'), /\(\d+ older messages are left out here/)
  assert.match(last.at(-1) ?? '', /第16个消息/)
  assert.ok(gateway.replies().some((text) => /without its oldest part/.test(text)))
  assert.ok(gateway.log.some((line) => line.includes('session.part_left_out')))
  const kept = rowsIn(gateway.home, `select count(*) as count from messages where content like '第%'`)
  assert.equal(kept[0]?.['count'], 32, 'the history has every message')
})

test('a server that counts nothing rejects one request, and every later one fits its window', async (t) => {
  const sizes: number[] = []
  const gateway = await startTestGateway(t, {
    config: { context_length: 12_000, agent: { max_retries: 0 } },
    model(request) {
      // A summary has no tools. The model repeats what it was asked.
      if (request.body['tools'] === undefined) return { text: request.lastUserText }
      const size = tokensOfChinese(request)
      sizes.push(size)
      if (size > 12_000) return { error: { status: 400, body: { error: { code: 'context_length_exceeded' } } } }
      const number = [...request.lastUserText.matchAll(/第(\d+)个消息/g)].at(-1)?.[1]
      return { text: `回答${number}：${sentences.repeat(26)}` }
    },
  })
  for (let at = 1; at <= 12; at++) {
    await gateway.say(`第${at}个消息：${sentences.repeat(26)}`)
    await gateway.waitForReply(`回答${at}：`)
  }
  assert.equal(sizes.filter((size) => size > 12_000).length, 1, sizes.join())
})

test('a summary that fails during a turn costs neither the turn nor the transcript', async (t) => {
  let refused = 0
  const gateway = await startTestGateway(t, {
    config: { context_length: windowTokens, compression: { protect_last_n: 1 }, agent: { max_retries: 0 } },
    model: (request) => {
      if (asksForSummary(request)) {
        refused += 1
        return { error: { status: 400, body: { error: { message: 'no' } } } }
      }
      const results = conversation(request).filter((one) => one.startsWith('tool:')).length
      if (!request.lastUserText.startsWith('work'))
        return { text: `noted ${request.lastUserText.slice(0, 'remember 0'.length)} ${'w'.repeat(7_000)}` }
      return results < 4 ? reads('long.txt')(results + 1) : { text: 'the work is done' }
    },
  })
  writeLongFile(gateway)
  for (let at = 0; at < 3; at++) {
    await gateway.say(`remember ${at} ${'z'.repeat(5_000)}`)
    await gateway.waitForReply(`noted remember ${at}`)
  }
  await gateway.say('work')
  await gateway.waitForReply('the work is done')
  assert.equal(refused, 1, 'the next passes wait for the end of the delay')
  assert.equal(rowsIn(gateway.home, 'select id from messages where is_summary = 1').length, 0)
  const people = rowsIn(gateway.home, `select superseded from messages where role <> 'tool'`)
  assert.ok(people.every(({ superseded }) => superseded === 0))
})
