import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import type { AgentTools } from '../../../src/agent/loop/agent-tools.ts'
import type { Journal } from '../../../src/agent/loop/journal.ts'
import type { ToolCallDeps } from '../../../src/agent/loop/run-tool-call.ts'
import { hashToolCall, mapWithConcurrency, runToolBatch } from '../../../src/agent/loop/tool-batch.ts'
import { HermesError, isHermesError } from '../../../src/lib/errors.ts'
import type { ToolCall } from '../../../src/message/transcript.ts'
import { call } from '../../kit/scripted-provider.ts'
import {
  createInMemoryJournal,
  createRecordingListener,
  createTestTools,
  type TestTool,
  testToolContext,
} from '../in-memory-deps.ts'
import { agentDeps, turnInfo } from '../run-test-agent.ts'

function batch(tools: AgentTools, more: { journal?: Journal; resumed?: boolean; calls: readonly ToolCall[] }) {
  const stop = new AbortController()
  const journal = createInMemoryJournal()
  const listener = createRecordingListener()
  const deps: ToolCallDeps = {
    ...agentDeps(),
    turn: turnInfo,
    apiRequestId: '',
    resumed: more.resumed ?? false,
    tools,
    journal: more.journal ?? journal,
    listener,
    toolContextFor: (of) => testToolContext(of, stop.signal),
  }
  const branches: number[] = []
  const fork = (count: number) => {
    branches.push(count)
    return () => void branches.push(-1)
  }
  return { stop, journal, listener, branches, results: runToolBatch(deps, more.calls, stop.signal, fork) }
}

/** A tool whose calls complete when the test says so. */
function heldTool() {
  const held = new Map<string, PromiseWithResolvers<string>>()
  const begun: string[] = []
  const tool: TestTool = ({ id }) => {
    begun.push(id)
    const result = Promise.withResolvers<string>()
    held.set(id, result)
    return result.promise
  }
  return { tool, begun, end: (id: string, result = `"${id}"`) => held.get(id)?.resolve(result) }
}

async function loopTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn()
}

const fenced: Journal['recordToolResult'] = () => Promise.reject(new HermesError('store/fenced'))

test('parallel tools run at most eight at a time, and their results have the order of the calls', async () => {
  const held = heldTool()
  const calls = Array.from({ length: 10 }, (_, index) => call(`c${index}`, 'held'))
  const { results, journal, branches } = batch(createTestTools({ held: held.tool }), { calls })
  await loopTurns()
  assert.equal(held.begun.length, 8)
  held.end('c7')
  await loopTurns()
  assert.equal(held.begun.length, 9)
  held.end('c8')
  await loopTurns()
  for (const { id } of calls.toReversed()) held.end(id)
  assert.deepEqual(
    (await results).map(({ toolCallId, content }) => `${toolCallId} ${content}`),
    calls.map(({ id }) => `${id} "${id}"`),
  )
  assert.equal(journal.messages.length, 10)
  assert.deepEqual(branches, [8, ...Array.from({ length: 8 }, () => -1)])
})

test('tools that cannot run in parallel run one after the other', async () => {
  const held = heldTool()
  const calls = [call('a', 'held'), call('b', 'held')]
  const { results, journal } = batch(createTestTools({ held: held.tool }, { parallel: false }), { calls })
  await loopTurns()
  assert.deepEqual(held.begun, ['a'])
  held.end('a')
  await loopTurns()
  held.end('b')
  await results
  assert.deepEqual(journal.events, ['start a', 'end a done', 'start b', 'end b done'])
})

test('a call is recorded as started before it runs, and its result before the next step', async () => {
  const seen: string[] = []
  const journal = createInMemoryJournal()
  const tools = createTestTools({
    look: async () => {
      seen.push(...journal.events)
      return '1'
    },
  })
  await batch(tools, { journal, calls: [call('a', 'look')] }).results
  assert.deepEqual(seen, ['start a'])
  assert.deepEqual(journal.events, ['start a', 'end a done'])
})

test('the listener receives the start and the end of each tool, with a line about its result', async () => {
  const tools = createTestTools({
    long: async () => 'x'.repeat(300),
    bad: async () => '{"error":"no"}',
    broken: async () => {
      throw new Error('boom')
    },
  })
  const calls = [call('a', 'long'), call('b', 'bad'), call('c', 'broken')]
  const { results, listener } = batch(tools, { calls })
  await results
  assert.deepEqual(listener.tools.sort(), [
    'begin a label of {}',
    'begin b label of {}',
    'begin c label of {}',
    'failed b no',
    'failed c boom',
    `ok a ${'x'.repeat(300)}`,
  ])
})

test('an error that a tool throws becomes its result, truncated', async () => {
  const tools = createTestTools({
    broken: async () => {
      throw new Error('😀'.repeat(5_000))
    },
    odd: () => {
      throw 'not even an error'
    },
  })
  const [long, odd] = await batch(tools, { calls: [call('a', 'broken'), call('b', 'odd')] }).results
  const received: { error: string } = JSON.parse(long?.content ?? '')
  // At most 2,048 characters, and no part of the word that is cut.
  assert.match(received.error, /^(?:😀){700,1024}$/u)
  assert.equal(odd?.content, '{"error":"not even an error"}')
})

test('an invalid call gets an error result and is never started', async () => {
  const tools = createTestTools({ known: async () => '1' })
  const calls = [{ id: 'a', name: 'known', arguments: '{"path": ' }, call('b', 'unknown')]
  const { results, journal } = batch(tools, { calls })
  const [first, second] = await results
  assert.match(first?.content ?? '', /^\{"error":".*\bknown\b/)
  assert.match(second?.content ?? '', /^\{"error":".*\bunknown\b/)
  assert.deepEqual(journal.events.toSorted(), ['end a done', 'end b done'])
})

test('a call with an effect that was started before a crash is not repeated, and the model reads that its outcome is unknown', async () => {
  const held = heldTool()
  const journal = createInMemoryJournal(['a'])
  const { results } = batch(createTestTools({ held: held.tool }, { mode: 'effect' }), {
    journal,
    calls: [call('a', 'held')],
  })
  const [result] = await results
  assert.match(result?.content ?? '', /^\{"error":"/)
  assert.deepEqual(held.begun, [])
  assert.deepEqual(journal.events, ['start a', 'end a interrupted'])
})

test('after an abort no further tool starts, and the result of a running tool is stored', async () => {
  const begun: string[] = []
  const tools = createTestTools(
    {
      patient: async ({ id }, { signal }) => {
        begun.push(id)
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        return '"half done"'
      },
    },
    { parallel: false },
  )
  const { results, stop, journal } = batch(tools, { calls: [call('a', 'patient'), call('b', 'patient')] })
  await loopTurns()
  const reason = new Error('stop')
  stop.abort(reason)
  await assert.rejects(results, reason)
  assert.deepEqual(begun, ['a'])
  assert.deepEqual(journal.events, ['start a', 'end a done'])
})

test('a tool that ignores the abort delays its turn by five seconds at most, and its late result is stored', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const held = heldTool()
  const { results, stop, journal } = batch(createTestTools({ held: held.tool }), { calls: [call('a', 'held')] })
  await loopTurns()
  const reason = new Error('stop')
  let settled = false
  const rejected = assert.rejects(results, reason).then(() => {
    settled = true
  })
  stop.abort(reason)
  await loopTurns()
  t.mock.timers.tick(4_999)
  await loopTurns()
  assert.equal(settled, false)
  t.mock.timers.tick(1)
  await rejected
  held.end('a', '"late"')
  await loopTurns()
  assert.deepEqual(journal.events, ['start a', 'end a done'])
})

test('a superseded turn waits for its running tools and starts no other', async () => {
  const held = heldTool()
  const memory = createInMemoryJournal()
  const journal: Journal = {
    ...memory,
    recordToolResult: (of, result, how) =>
      of.id === 'c0' ? fenced(of, result, how) : memory.recordToolResult(of, result, how),
  }
  const calls = Array.from({ length: 10 }, (_, index) => call(`c${index}`, 'held'))
  const { results } = batch(createTestTools({ held: held.tool }), { journal, calls })
  let settled = false
  const rejected = assert
    .rejects(results, (error) => isHermesError(error, 'store/fenced'))
    .then(() => {
      settled = true
    })
  await loopTurns()
  held.end('c0')
  await loopTurns()
  assert.equal(settled, false, 'the next turn must not start while these tools run')
  for (const { id } of calls.slice(1, 8)) held.end(id)
  await rejected
  assert.equal(held.begun.length, 8)
})

test('the hash of a call depends on its name and arguments', () => {
  const one = { id: 'a', name: 'terminal', arguments: '{"command":"ls"}' }
  assert.equal(hashToolCall(one), hashToolCall({ ...one, id: 'b' }))
  assert.notEqual(hashToolCall(one), hashToolCall({ ...one, arguments: '{"command":"rm"}' }))
  assert.notEqual(hashToolCall(one), hashToolCall({ ...one, name: 'process' }))
})

test('results are in the order of the items, and the concurrency limit holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 3 })), fc.integer({ min: 1, max: 4 }), async (delays, limit) => {
      let running = 0
      let most = 0
      const results = await mapWithConcurrency(delays, limit, async (turns, index) => {
        running += 1
        most = Math.max(most, running)
        for (let turn = 0; turn < turns; turn++) await Promise.resolve()
        running -= 1
        return index
      })
      assert.deepEqual(results, [...delays.keys()])
      assert.ok(most <= limit)
    }),
  )
})

test('after a failure no further item starts, and the failure is thrown', async () => {
  const started: number[] = []
  const work = async (item: number) => {
    started.push(item)
    if (item === 1) throw new Error('broken')
    await Promise.resolve()
    return item
  }
  await assert.rejects(mapWithConcurrency([0, 1, 2, 3, 4, 5, 6, 7], 2, work), /broken/)
  assert.ok(started.length < 8)
})
