/**
 * MCP servers that ask for a text of a model.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpServer } from '@modelcontextprotocol/server'
import { contentText } from '../../../src/agent/mcp/result-text.ts'
import { createSampling } from '../../../src/agent/mcp/sampling.ts'
import type { AuxiliaryRequest } from '../../../src/agent/models/auxiliary.ts'
import { asRecord } from '../../../src/lib/json.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { raceAbort } from '../../../src/lib/timers.ts'
import { scriptedProvider, usagePerCall } from '../../kit/scripted-provider.ts'
import { connectInProcess, createTestServer } from './support.ts'

const { signal } = new AbortController()
const provider = scriptedProvider([])

/** A server whose tool `ask` asks for a text. */
function createAskingServer(): McpServer {
  const server = createTestServer()
  server.registerTool('ask', { description: 'Ask' }, async () => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Sum\u{E0049} up' } }]
    const { content, model } = await server.server.createMessage({
      messages,
      modelPreferences: { hints: [{ name: 'dear' }, { name: 'fast' }] },
      systemPrompt: 'Be brief',
      maxTokens: 9_999,
    })
    return { content: [{ type: 'text', text: `${model}: ${JSON.stringify(content)}` }] }
  })
  return server
}

function connect(answers: boolean, chosen: { model?: string; allowed_models?: string[]; timeout?: number } = {}) {
  const requests: AuxiliaryRequest[] = []
  const answerSampling = createSampling({
    server: 'test',
    settings: { max_tokens_cap: 100, max_rpm: 1, ...chosen },
    model: {
      async complete(request) {
        requests.push(request)
        if (chosen.timeout !== undefined) await raceAbort(new Promise<never>(() => undefined), request.signal)
        return { text: 'short', toolCalls: [], usage: usagePerCall, finishReason: 'stop', model: 'small', provider }
      },
    },
    clock: () => 0,
    log: silentLog,
  })
  const { connection } = connectInProcess(createAskingServer, answers ? { answerSampling } : {})
  const ask = async () =>
    contentText(
      asRecord(await connection.request({ method: 'tools/call', params: { name: 'ask' } }, signal))['content'],
    )
  return { connection, requests, ask }
}

test('a server that may ask gets a text of the model, within the limits of the configuration', async (t) => {
  const { connection, requests, ask } = connect(true)
  t.after(() => connection.close())
  assert.equal(await ask(), 'small: {"type":"text","text":"short"}')
  assert.deepEqual(
    requests.map(({ input }) => input),
    [{ system: 'Be brief', messages: [{ role: 'user', content: 'Sum up' }], tools: [], maxOutputTokens: 100 }],
  )
  assert.match(await ask(), /more than 1 requests in a minute/)
  assert.equal(requests.length, 1)
})

test('a server chooses only a model that it may choose, and none where the configuration names one', async (t) => {
  for (const [chosen, expected] of [
    [{}, undefined],
    [{ allowed_models: ['fast', 'other'] }, 'fast'],
    [{ allowed_models: ['fast'], model: 'own' }, 'own'],
  ] as const) {
    const { connection, requests, ask } = connect(true, {
      ...chosen,
      allowed_models: [...(chosen.allowed_models ?? [])],
    })
    t.after(() => connection.close())
    await ask()
    assert.deepEqual(
      requests.map(({ model }) => model),
      [expected],
    )
  }
})

test('a text that takes longer than its server may wait is an error', async (t) => {
  const { connection, ask } = connect(true, { timeout: 0.01 })
  t.after(() => connection.close())
  assert.match(await ask(), /no model answered/)
})

test('a server that may not ask is refused', async (t) => {
  const { connection, ask } = connect(false)
  t.after(() => connection.close())
  assert.equal(await ask(), 'Method not found')
})
