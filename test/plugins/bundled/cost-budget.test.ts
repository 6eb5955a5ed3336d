/**
 * Budgets in a whole gateway: who pays, what a used-up budget does, and that many calls at once do not spend it twice.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createBudgets } from '../../../plugins/cost-budget/budgets.ts'
import { createLedger } from '../../../plugins/cost-budget/ledger.ts'
import { budgetNameOf } from '../../../plugins/cost-budget/messages.ts'
import { costOf, parsePriceTable } from '../../../plugins/cost-budget/prices.ts'
import { parseBudgetSettings } from '../../../plugins/cost-budget/settings.ts'
import { estimateUsage, meterStream, noUsage } from '../../../plugins/cost-budget/stream-meter.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { extractUsage, type Usage } from '../../../src/sdk.ts'
import type { TestGateway, TestGatewayOptions } from '../../kit/start-gateway.ts'
import { conversation } from '../../stories/support.ts'
import { startWithBundledPlugins } from './support.ts'

/** A call of the scripted model: 11 tokens in, of which 3 are cached, and 7 out. */
const perCall = 18

function withBudgets(
  t: TestContext,
  settings: Readonly<Record<string, unknown>>,
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  return startWithBundledPlugins(t, { 'cost-budget': settings }, options)
}

test('a user with an exhausted budget gets the reason as the reply, also after a restart; others are answered', async (t) => {
  const budgets = [{ per: 'user', period: 'day', tokens: 2 * perCall, action: 'block' }]
  const gateway = await withBudgets(t, { budgets })
  for (const word of ['one', 'two']) {
    await gateway.say(word, { user: 'ada' })
    await gateway.waitForReply(`You said: ${word}`)
  }
  await gateway.stop()
  await gateway.start()
  await gateway.say('three', { user: 'ada' })
  await gateway.waitForReply(
    new RegExp(`^${budgetNameOf({ per: 'user', period: 'day' })}.*\\b36 of 36 tokens\\b.*\\(UTC\\)`),
  )
  await gateway.say('hello', { user: 'bob', chat: 'two' })
  await gateway.waitForReply('You said: hello', 'two')
  await gateway.say('/budget', { user: 'bob', chat: 'two' })
  await gateway.waitForReply('- Your budget for today: 18 of 36 tokens; then further requests are blocked', 'two')
  assert.equal(gateway.model.requestCount, 3)
})

test('budgets apply per chat and to all chats together, in tokens and in money', async (t) => {
  const gateway = await withBudgets(t, {
    budgets: [
      { per: 'chat', period: 'month', tokens: 5, action: 'block' },
      { per: 'global', period: 'day', amount: 0.5, action: 'block' },
    ],
    prices: { 'test-*': { input: 10_000, output: 20_000, cached_input: 0 } },
  })
  await gateway.say('one', { chat: 'first' })
  await gateway.waitForReply('You said', 'first')
  await gateway.say('two', { chat: 'first' })
  await gateway.waitForReply(new RegExp(`^${budgetNameOf({ per: 'chat', period: 'month' })}.* 18 of 5 tokens`), 'first')
  // 8 tokens for 0.01 each, 3 cached ones for nothing, 7 for 0.02.
  await gateway.say('/budget', { chat: 'second' })
  await gateway.waitForReply('- The budget of all chats for today: 0.2200 of 0.5000 USD;', 'second')
  for (const chat of ['second', 'third']) {
    await gateway.say('one', { chat })
    await gateway.waitForReply('You said', chat)
  }
  await gateway.say('one', { chat: 'fourth' })
  await gateway.waitForReply(
    new RegExp(`^${budgetNameOf({ per: 'global', period: 'day' })}.* 0\\.6600 of 0\\.5000 USD`),
    'fourth',
  )
})

test('64 concurrent turns exceed the budget by at most one call', async (t) => {
  const limit = 20_000
  const release = Promise.withResolvers<void>()
  const gateway = await withBudgets(
    t,
    { budgets: [{ per: 'global', period: 'day', tokens: limit, action: 'block' }], expected_output_tokens: 1 },
    // More than the estimate of a request: otherwise a finished call would leave room for further ones.
    { model: () => ({ text: 'Answered', usage: { input: 2_000, output: 1 }, gate: () => release.promise }) },
  )
  const chats = Array.from({ length: 64 }, (_, number) => `chat ${number}`)
  await Promise.all(chats.map((chat) => gateway.say('go', { chat })))
  await gateway.waitForReply('has too little left for another response')
  release.resolve()
  await Promise.all(chats.map((chat) => gateway.waitForReply(/./, chat)))
  const sizes = gateway.model.requests.map(({ body }) => JSON.stringify(body).length / 4)
  const [largest = 0, ...others] = sizes.sort((one, other) => other - one)
  assert.ok(others.length > 5 && largest > 0, `only ${sizes.length} were asked`)
  assert.ok(others.reduce((sum, size) => sum + size, 0) < limit, `${sizes.length} were asked`)
})

test('a cheaper model answers when the budget is used up, with the fields it needs', async (t) => {
  const gateway = await withBudgets(
    t,
    {
      budgets: [{ per: 'user', period: 'day', tokens: 1, action: 'route_down' }],
      cheap_model: 'cheap',
      cheap_model_fields: { stream_options: { include_usage: true }, reasoning_effort: null, temperature: 0 },
    },
    { config: { reasoning_effort: 'high' } },
  )
  for (const word of ['one', 'two']) {
    await gateway.say(word)
    await gateway.waitForReply(`You said: ${word}`)
  }
  const [first, second] = [(await gateway.modelRequest(0)).body, (await gateway.modelRequest(1)).body]
  assert.deepEqual([first['model'], first['reasoning_effort'], first['temperature']], ['test-model', 'high', undefined])
  assert.deepEqual([second['model'], second['reasoning_effort'], second['temperature']], ['cheap', undefined, 0])
})

test('a user is warned once when little is left, and the operator finds the warning in the log', async (t) => {
  const gateway = await withBudgets(t, {
    budgets: [
      { per: 'user', period: 'day', tokens: 20, action: 'warn' },
      { per: 'global', period: 'day', tokens: 30, action: 'warn' },
    ],
    warn_at: 0.5,
  })
  for (const word of ['one', 'two', 'three']) {
    await gateway.say(word)
    await gateway.waitForReply(`You said: ${word}`)
  }
  const last = gateway.model.requests.map((request) => conversation(request).at(-1))
  assert.equal(last[0], 'user: one')
  assert.match(
    last[1] ?? '',
    new RegExp(`^user: two\\n\\n\\[.*${budgetNameOf({ per: 'user', period: 'day' })}.* 18 of 20 tokens`),
  )
  assert.equal(last[2], 'user: three')
  await gateway.waitForLog({ event: 'cost_budget.nearly_exhausted', period: 'day', limit: 30, unit: 'tokens' })
})

test('a budget applies to the users in `for` only, and not to those in `except`', async (t) => {
  const budget = { per: 'user', period: 'day', tokens: 1, action: 'block' }
  const gateway = await withBudgets(t, {
    budgets: [
      { ...budget, for: ['fake:ada'] },
      { ...budget, per: 'chat', except: ['agent:main:fake:dm:ada', 'agent:main:fake:dm:bob'] },
    ],
  })
  const answer = async (user: string, text: string) => {
    await gateway.say(text, { user, chat: user })
    return (await gateway.waitForReply(new RegExp(text === '/budget' ? `fake:${user}` : `${text}|of 1 tokens`), user))
      .text
  }
  assert.match(await answer('bob', '/budget'), /`fake:bob`.*`agent:main:fake:dm:bob`\.$/)
  for (const user of ['ada', 'bob', 'eve']) assert.match(await answer(user, 'one'), /one/)
  assert.ok((await answer('ada', 'two')).startsWith(budgetNameOf({ per: 'user', period: 'day' })))
  assert.equal(await answer('bob', 'two'), 'You said: two')
  assert.ok((await answer('eve', 'two')).startsWith(budgetNameOf({ per: 'chat', period: 'day' })))
})

test('both calls count when the router escalates, and a failed call costs nothing', async (t) => {
  const budgets = [{ per: 'global', period: 'day', tokens: 10_000, action: 'block' }]
  const router = { small_models: ['test-model'], large_model: 'large', max_share_per_day: 1 }
  const gateway = await startWithBundledPlugins(
    t,
    { 'cost-budget': { budgets }, 'model-router': router },
    {
      config: { agent: { max_retries: 0 } },
      replies: [{ text: "I'm not sure" }, { text: 'Sure' }, { error: { status: 500 } }],
    },
  )
  await gateway.say('well?')
  await gateway.waitForReply('Sure')
  await gateway.say('again?')
  await gateway.waitForReply('Sorry')
  await gateway.say('/budget')
  await gateway.waitForReply(`${2 * perCall} of 10,000 tokens`)
})

test('invalid settings are named in the error', () => {
  const cases: readonly [Readonly<Record<string, unknown>>, RegExp][] = [
    [{ budgets: [{ per: 'user', period: 'day', action: 'warn' }] }, /number 1: .*\bamount\b.*\btokens\b/],
    [
      { budgets: [{ per: 'user', period: 'day', amount: 1, tokens: 1, action: 'warn' }] },
      /number 1: .*\bamount\b.*\btokens\b/,
    ],
    [{ budgets: [{ per: 'us', period: 'day', amount: 1, action: 'warn' }] }, /number 1: per: .*\buser, chat\b/],
    [{ budgets: [{ per: 'user', period: 'day', amount: 1, action: 'route_down' }] }, /cheap_model/],
    [{ prices: { large: { input: 1 } } }, /prices, large: .*\boutput\b/],
    [{ timezone: 'Europe/Nowhere' }, /Europe\/Nowhere/],
    [{ warn_at: 80 }, /warn_at/],
  ]
  for (const [settings, message] of cases) {
    assert.throws(() => parseBudgetSettings({ warn_at: 0.8, timezone: 'UTC', ...settings }), message)
  }
})

const usage: Usage = { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 600, cacheWriteTokens: 200 }

test('cached tokens have their own price, and the name of a model takes precedence over a pattern', () => {
  const prices = parsePriceTable({
    '*': { input: 1, output: 1 },
    'claude-*': { input: 10, output: 50, cached_input: 1, cache_write: 12.5 },
    'claude-x': { input: 0, output: 0 },
  })
  const [own, pattern, any] = ['claude-x', 'claude-opus', 'other'].map((model) => prices.find(model))
  assert.ok(own && pattern && any)
  assert.equal(costOf(usage, own), 0)
  assert.equal(costOf(usage, pattern).toFixed(6), '0.010100')
  assert.equal(costOf(usage, any).toFixed(6), '0.001100')
  assert.equal(parsePriceTable({ a: { input: 1, output: 1 } }).find('b'), undefined)
})

test('a period ends at midnight of the configured time zone, and older spending is deleted', async () => {
  let now = Date.parse('2026-08-31T21:59:00Z')
  let kept: unknown
  const state = {
    get: async () => kept,
    async set(_key: string, value: unknown) {
      kept = value
    },
  }
  const open = () =>
    createLedger(
      state,
      () => 'Europe/Berlin',
      assert.ifError,
      () => now,
    )
  const ledger = await open()
  const call = { id: 'a', turnId: 't', payers: ['global'] }
  ledger.recordCall(call, { money: 1, tokens: 10 })
  assert.equal(ledger.spent('global', 'month').tokens, 10)
  now += 60_000
  assert.deepEqual([ledger.spent('global', 'day').tokens, ledger.spent('global', 'month').tokens], [0, 0])
  ledger.recordCall(call, { money: 2, tokens: 20 })
  await ledger.flush()
  assert.deepEqual(Object.keys(Object(kept)), ['2026-09-01', '2026-09'])
  assert.deepEqual((await open()).spent('global', 'day'), { money: 2, tokens: 20 })
})

test('the reservation of a call is released when its turn starts another call or ends', async () => {
  const state = { get: async () => undefined, set: async () => undefined }
  const ledger = await createLedger(
    state,
    () => 'UTC',
    assert.ifError,
    () => 0,
  )
  const reserved = () => ledger.reserved('global', '').tokens
  const call = (id: string, turnId: string) => ({ id, turnId, payers: ['global'] })
  ledger.reserve(call('a', 't'), { money: 0, tokens: 5 })
  ledger.reserve(call('b', 't'), { money: 0, tokens: 7 })
  assert.equal(reserved(), 7)
  ledger.markStarted('b')
  ledger.reserve(call('c', 't'), { money: 0, tokens: 1 })
  assert.equal(reserved(), 8)
  ledger.turnEnded('t')
  assert.equal(reserved(), 7)
  ledger.recordCall(call('b', 't'), { money: 0, tokens: 3 })
  assert.deepEqual([reserved(), ledger.spent('global', 'day').tokens], [0, 3])
})

test('an interrupted response counts the received tokens, and one that never began counts none', async () => {
  const expected = { ...noUsage, inputTokens: 50, outputTokens: 9 }
  async function costs(...chunks: readonly unknown[]): Promise<Usage | undefined> {
    let counted: Usage | undefined
    async function* broken() {
      yield* chunks
      throw new Error('cut')
    }
    const stream = meterStream(
      async () => broken(),
      expected,
      (found) => {
        counted = found
      },
    )
    await assert.rejects(async () => {
      for await (const _chunk of stream) assert.equal(counted, undefined)
    }, /cut/)
    return counted
  }
  assert.deepEqual(await costs(), noUsage)
  assert.deepEqual(await costs({}, {}, {}), { ...expected, outputTokens: 3 })
  const begun = { message: { usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 1 } } }
  assert.deepEqual(await costs(begun, {}, {}), { ...noUsage, inputTokens: 14, cachedInputTokens: 4, outputTokens: 3 })
})

test('a stream that is never read keeps no reservation', async () => {
  const state = { get: async () => undefined, set: async () => undefined }
  const ledger = await createLedger(
    state,
    () => 'UTC',
    assert.ifError,
    () => 0,
  )
  const call = { id: 'a', turnId: 't', payers: ['global'] }
  ledger.reserve(call, { money: 0, tokens: 5 })
  const stream = meterStream(
    () => assert.fail('the stream is not read'),
    noUsage,
    () => ledger.recordCall(call, { money: 0, tokens: 0 }),
    () => ledger.markStarted('a'),
  )
  await stream.return()
  ledger.turnEnded('t')
  assert.equal(ledger.reserved('global', '').tokens, 0)
})

test('an invalid token limit of a request counts as the expected output', () => {
  for (const limit of [Number.NaN, -5, '9', null, Number.POSITIVE_INFINITY])
    assert.equal(estimateUsage({ max_tokens: limit }, 700).outputTokens, 700, String(limit))
  assert.equal(estimateUsage({ max_tokens: 50 }, 700).outputTokens, 50)
  assert.equal(estimateUsage({ max_tokens: Number.NaN, max_completion_tokens: 60 }, 700).outputTokens, 60)
})

test('a clock that jumps ahead and back deletes no spending', async () => {
  let now = Date.parse('2026-08-20T12:00:00Z')
  const state = { get: async () => undefined, set: async () => undefined }
  const ledger = await createLedger(
    state,
    () => 'UTC',
    assert.ifError,
    () => now,
  )
  const call = { id: 'a', turnId: 't', payers: ['global'] }
  ledger.recordCall(call, { money: 1, tokens: 10 })
  now += 90 * 86_400_000
  ledger.recordCall(call, { money: 1, tokens: 1 })
  await ledger.flush()
  now -= 90 * 86_400_000
  assert.deepEqual([ledger.spent('global', 'day').tokens, ledger.spent('global', 'month').tokens], [10, 10])
})

test('invalid token counts of a vendor do not reduce the spending', () => {
  const odd = extractUsage({ usage: { prompt_tokens: -5, completion_tokens: Number.NaN } })
  assert.deepEqual(odd, noUsage)
})

test('tokens are counted in every wire format, from responses and from chunks', () => {
  const chat = { usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } } }
  const details = { input_tokens_details: { cached_tokens: 4 } }
  const responses = { response: { usage: { input_tokens: 10, output_tokens: 5, ...details } } }
  const anthropic = { usage: { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 5 } }
  for (const json of [chat, responses, anthropic])
    assert.deepEqual(extractUsage(json), {
      inputTokens: 10,
      outputTokens: 5,
      cachedInputTokens: 4,
      cacheWriteTokens: 0,
    })
  for (const json of [null, 'x', {}, { usage: 7 }, { choices: [] }]) assert.equal(extractUsage(json), undefined)
})

test('a turn and its sub-agents have one budget, which holds across restarts; the person who caused a call pays', async () => {
  let kept: unknown
  const state = {
    get: async () => kept,
    async set(_key: string, value: unknown) {
      kept = value
    },
  }
  const settings = parseBudgetSettings({
    budgets: [
      { per: 'turn', tokens: 100, action: 'block' },
      { per: 'user', period: 'day', tokens: 150, action: 'block' },
    ],
    prices: {},
    currency: 'USD',
    timezone: 'UTC',
    warn_at: 0.8,
    cheap_model: '',
    expected_output_tokens: 0,
  })
  const open = async () => {
    const ledger = await createLedger(
      state,
      () => 'UTC',
      assert.ifError,
      () => 0,
    )
    return { ledger, budgets: createBudgets(() => settings, ledger, silentLog) }
  }
  const ada = { platform: 'telegram', sender_id: '5', caused_by: 'telegram:5' }
  const inTurn = { ...ada, turn_id: 'turn', root_turn_id: 'turn', api_request_id: 'a' }
  const inSubagent = { ...inTurn, turn_id: 'child', api_request_id: 'b' }
  const inTask = { platform: 'background', sender_id: 'hook:h', caused_by: 'telegram:5', turn_id: 'task' }
  const used = (inputTokens: number): Usage => ({ ...noUsage, inputTokens })

  const before = await open()
  assert.equal(before.budgets.admit({}, inTurn), null)
  before.budgets.recordUsage(before.budgets.callOf(inTurn), 'm', used(60))
  before.budgets.recordUsage(before.budgets.callOf(inSubagent), 'm', used(40))
  await before.ledger.flush()
  const { budgets } = await open()
  assert.match(budgets.admit({}, inTurn) ?? '', /\b100 of 100 tokens\b/)
  assert.match(budgets.admit({}, inSubagent) ?? '', /\b100 of 100 tokens\b/)
  assert.equal(budgets.admit({}, inTask), null)
  budgets.recordUsage(budgets.callOf(inTask), 'm', used(50))
  const message = budgets.admit({}, { ...ada, turn_id: 'next', api_request_id: 'c' }) ?? ''
  assert.match(message, /\b150 of 150 tokens\b/)
  assert.equal(budgets.admit({}, { platform: 'telegram', sender_id: '6', turn_id: 'other' }), null)
  const shown = budgets.spendingPerBudget({ user: 'telegram:5', chat: '', turn: '' })
  assert.deepEqual(
    shown.map(({ budget, spent }) => [budget.per, spent.tokens]),
    [['user', 150]],
  )
})
