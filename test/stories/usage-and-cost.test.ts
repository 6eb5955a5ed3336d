/**
 * People see how many tokens they used, and what these cost.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'

async function startPriced(t: TestContext, config: Readonly<Record<string, unknown>> = {}) {
  const replies: ModelReply[] = []
  const gateway = await startTestGateway(t, {
    config: { roles: { owners: ['fake:ada'] }, ...config },
    model: ({ lastUserText }) => replies.shift() ?? { text: `You said: ${lastUserText}` },
  })
  const owner = { user: 'ada', chat: 'ada-dm' }
  return {
    gateway,
    /** Sends a message that the model answers with these replies. */
    async turn(text: string, ...answers: readonly ModelReply[]) {
      replies.push(...answers)
      await gateway.say(text, owner)
      await gateway.waitForReply(String(answers.at(-1)?.text), owner.chat)
    },
    async cost(command = '/usage') {
      const shown = gateway.replies(owner.chat).length
      await gateway.say(command, owner)
      const reply = await newReply(gateway, owner.chat, shown)
      return /\*\*Cost\*\* (.*?)\s*$/m.exec(reply)?.[1]
    },
  }
}

async function newReply(gateway: TestGateway, chat: string, shown: number): Promise<string> {
  await gateway.until((message) => message.chat === chat && gateway.replies(chat).length > shown)
  return gateway.replies(chat).at(-1) ?? ''
}

test('a configured price is applied to what is read, cached and written; what the provider bills counts first', async (t) => {
  const { gateway, turn, cost } = await startPriced(t, {
    model: 'm-2026-11-01',
    model_prices: { m: { input: 2, cached_input: 0.2, output: 10 } },
  })
  await turn('one', { text: 'first', usage: { input: 1_000, output: 100, cached: 500 } })
  assert.equal(await cost(), '$0.0021')
  await turn('two', { text: 'second', usage: { input: 10, output: 1, cost: 0.25 } })
  assert.equal(await cost(), '$0.25')
  assert.match(gateway.replies('ada-dm').at(-1) ?? '', /Last answer\*\* 11 tokens, cost \$0\.25/)
  assert.equal(await cost('/insights'), '$0.25')
  await gateway.stop()
  await gateway.start()
  assert.equal(await cost(), '$0.25')
})

test('sub-agents are counted with their turn', async (t) => {
  const { turn, cost } = await startPriced(t, { model: 'm', model_prices: { '*': { input: 1_000, output: 0 } } })
  const usage = { input: 100, output: 0 }
  await turn(
    'delegate it',
    { toolCalls: [{ name: 'delegate_task', arguments: { goal: 'look' } }], usage },
    { text: 'the work of the sub-agent', usage },
    { text: 'all done', usage },
  )
  assert.equal(await cost(), '$0.30')
})

test('a price that is not known is said, also where it is that of a part', async (t) => {
  const { turn, cost } = await startPriced(t)
  await turn('one', { text: 'first', usage: { input: 1_000, output: 100 } })
  assert.equal(await cost(), 'unknown')
  assert.equal(await cost('/insights'), 'unknown')
  await turn('two', { text: 'second', usage: { input: 1_000, output: 100, cost: 0.5 } })
  assert.match((await cost()) ?? '', /^\$0\.50 and .* 1,100 tokens$/)
})
