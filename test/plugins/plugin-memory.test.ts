/**
 * Long-term memory of a plugin: asked before a turn, told after it, never in the way of a reply.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAgentHooks } from '../../src/plugins/agent-hooks.ts'
import type { MemoryContext, MemoryProvider } from '../../src/plugins/contract.ts'
import { createPluginMemory, type PluginMemory } from '../../src/plugins/plugin-memory.ts'
import { createRecordingLog } from '../hosts/support.ts'
import { createVirtualTime } from '../platforms/virtual-time.ts'
import { createTestHooks, createTurnInfo, neverSettles, warningsOf } from './support.ts'

function memoryUnderTest() {
  const log = createRecordingLog()
  const time = createVirtualTime()
  const settings: { chosen: string | undefined } = { chosen: 'notes' }
  const memory = createPluginMemory({
    log,
    now: time.clock,
    sleep: time.sleep,
    timeoutMs: () => 1_000,
    configuredProvider: () => settings.chosen,
  })
  return { memory, log, time, settings, warnings: () => warningsOf(log) }
}

const ada: MemoryContext = { sessionId: 's1', platform: 'web', userId: 'ada' }

test('a provider is used only if the configuration names it, its plugin or its folder', async () => {
  const { memory, settings } = memoryUnderTest()
  const registration = memory.register('memory/honcho', { name: 'notes', prefetch: () => 'remembered' })
  memory.register('other', { name: 'others', prefetch: () => 'not asked' })
  for (const chosen of ['notes', 'memory/honcho', 'honcho']) {
    settings.chosen = chosen
    assert.equal(memory.activeProviderName(), 'notes')
    assert.equal(await memory.recall(createTurnInfo(), 'hi'), 'remembered')
  }
  for (const chosen of ['oncho', undefined]) {
    settings.chosen = chosen
    assert.equal(memory.activeProviderName(), undefined)
    assert.equal(await memory.recall(createTurnInfo(), 'hi'), '')
  }
  settings.chosen = 'notes'
  assert.equal(registration.remove(), true)
  assert.equal(memory.activeProviderName(), undefined)
})

test('context of the memory provider precedes context of other plugins', async () => {
  const { memory } = memoryUnderTest()
  const { hooks, log } = createTestHooks()
  const agentHooks = createAgentHooks({
    hooks,
    memory,
    log,
    streamReasoning: () => false,
    redact: (text) => text,
  })
  const asked: unknown[] = []
  memory.register('demo', {
    name: 'notes',
    prefetch(query, about) {
      asked.push(query, about)
      return ' likes tea\n'
    },
  })
  hooks.register('aaa', 'pre_llm_call', () => 'the weather')
  const context = await agentHooks.collectContext(createTurnInfo(), {
    userMessage: 'hello',
    history: () => [],
    isFirstTurn: true,
  })
  assert.equal(context, 'likes tea\n\nthe weather')
  assert.deepEqual(asked, ['hello', ada])
})

test('a memory that fails, hangs or returns nothing adds nothing', async () => {
  const providers: MemoryProvider['prefetch'][] = [
    () => {
      throw new Error('no network')
    },
    neverSettles,
    () => null,
    () => JSON.parse('7'),
  ]
  for (const prefetch of providers) {
    const { memory, time } = memoryUnderTest()
    memory.register('demo', { name: 'notes', ...(prefetch === undefined ? {} : { prefetch }) })
    const recalled = memory.recall(createTurnInfo(), 'hi')
    await time.advance(1_000)
    assert.equal(await recalled, '')
  }
})

test('a memory provider that timed out is skipped for a minute', async () => {
  const { memory, time, warnings } = memoryUnderTest()
  let calls = 0
  memory.register('demo', {
    name: 'notes',
    prefetch() {
      calls += 1
      return neverSettles()
    },
  })
  const recalled = memory.recall(createTurnInfo(), 'hi')
  await time.advance(1_000)
  await recalled
  assert.equal(await memory.recall(createTurnInfo(), 'hi'), '')
  assert.equal(calls, 1)
  assert.deepEqual(warnings(), [['plugin.callback_failed', 'demo', 'memory prefetch']])
})

/** A provider that takes half a second to keep a turn. */
function registerSlowProvider(memory: PluginMemory, pause: (ms: number) => Promise<void>): string[] {
  const stored: string[] = []
  memory.register('demo', {
    name: 'notes',
    async syncTurn(user, assistant, { userId }) {
      await pause(500)
      stored.push(`${userId}: ${user} → ${assistant}`)
    },
  })
  return stored
}

test('turns are synced after the reply, in order, and completely before a stop', async () => {
  const { memory, time } = memoryUnderTest()
  const stored = registerSlowProvider(memory, time.sleep)
  memory.syncTurn(createTurnInfo(), 'one', '1')
  memory.syncTurn(createTurnInfo(), 'two', '2')
  memory.syncTurn(createTurnInfo({ sessionKey: 'web:dm:2', senderId: 'bob' }), 'three', '3')
  assert.deepEqual(stored, [])
  const settled = memory.drain(5_000)
  await time.advance(500)
  assert.deepEqual(stored, ['ada: one → 1', 'bob: three → 3'])
  await time.advance(500)
  assert.equal(await settled, true)
  assert.equal(stored.at(-1), 'ada: two → 2')
})

test('background tasks are not stored in the memory of a user', async () => {
  const { memory, time, warnings } = memoryUnderTest()
  memory.register('demo', {
    name: 'notes',
    prefetch: () => assert.fail('asked for a background task'),
    syncTurn: () => assert.fail('told of a background task'),
  })
  const task = createTurnInfo({ taskId: 'bg_1' })
  memory.syncTurn(task, 'one', '1')
  assert.equal(await memory.recall(task, 'one'), '')
  await time.flush()
  assert.deepEqual(warnings(), [])
})

test('a provider adds to the prompt of a new session and is called before compression', async () => {
  const { memory } = memoryUnderTest()
  memory.register('demo', {
    name: 'notes',
    systemPromptBlock: ({ userId }) => `You know ${userId}.`,
    onPreCompress: (messages) => `${messages.length} messages`,
  })
  assert.equal(await memory.promptBlock(ada), 'You know ada.')
  assert.equal(await memory.beforeCompression([{ role: 'user' }], ada), '1 messages')
})

test('optional methods of a provider can be missing', async () => {
  const { memory } = memoryUnderTest()
  memory.register('demo', { name: 'notes' })
  assert.equal(await memory.recall(createTurnInfo(), 'hi'), '')
  assert.equal(await memory.promptBlock(ada), '')
  assert.equal(await memory.beforeCompression([], ada), '')
  memory.syncTurn(createTurnInfo(), 'a', 'b')
  await memory.stop()
})

test('every provider is shut down, even if another one fails', async () => {
  const { memory, time } = memoryUnderTest()
  const closed: string[] = []
  memory.register('a', {
    name: 'broken',
    shutdown() {
      throw new Error('stuck')
    },
  })
  memory.register('b', { name: 'hanging', shutdown: neverSettles })
  memory.register('c', { name: 'notes', shutdown: () => closed.push('notes') })
  const stopped = memory.stop()
  await time.advance(1_000)
  await stopped
  assert.deepEqual(closed, ['notes'])
})

test('a removed provider is shut down once', async () => {
  const { memory } = memoryUnderTest()
  const closed: string[] = []
  const registration = memory.register('a', { name: 'notes', shutdown: () => closed.push('notes') })
  registration.remove()
  registration.remove()
  await memory.stop()
  assert.deepEqual(closed, ['notes'])
})
