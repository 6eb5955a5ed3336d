import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTokens, findRunaway, restoreLoopState, type TurnLimits } from '../../../src/agent/loop/loop-state.ts'
import { ModelError, ModelOutage } from '../../../src/agent/models/provider.ts'
import { HermesError, isHermesError } from '../../../src/lib/errors.ts'
import type { ChatMessage, ToolCall } from '../../../src/message/transcript.ts'
import { noUsage } from '../../../src/message/transcript.ts'
import { call, type ScriptStep, usagePerCall } from '../../kit/scripted-provider.ts'
import { createInMemoryJournal, createTestTools, settingsWith, type TestTool } from '../in-memory-deps.ts'
import { question, runTestAgent } from '../run-test-agent.ts'

function asks(...calls: ToolCall[]): ScriptStep {
  return { calls }
}

function shape(messages: readonly ChatMessage[] | undefined): string[] {
  return (messages ?? []).map((message) =>
    message.role === 'tool' ? `${message.toolCallId}=${message.content}` : `${message.role}: ${message.content}`,
  )
}

test('a message that needs no tool is one model call', async () => {
  const { result, provider, journal } = runTestAgent([{ chunks: ['hel', 'lo'] }])
  assert.deepEqual(await result, {
    text: 'hello',
    message: { role: 'assistant', content: 'hello' },
    usage: usagePerCall,
    iterations: 1,
    finishReason: 'stop',
  })
  assert.deepEqual(provider.requests[0]?.messages, [question])
  assert.equal(provider.requests[0]?.system, 'be kind')
  assert.equal(provider.requests[0]?.model, 'm')
  assert.deepEqual(journal.events, [], 'the last response is stored with the end of the turn')
})

test('the model calls tools, reads their results and replies; the final answer is the last text', async () => {
  const { result, provider, journal, listener } = runTestAgent(
    [
      { chunks: ['Let me look.'], calls: [call('a', 'read'), call('b', 'read')] },
      asks(call('c', 'read')),
      { chunks: ['It is empty.'] },
    ],
    { read: async ({ id }) => `found ${id}` },
  )
  const { text, iterations, usage } = await result
  assert.equal(text, 'It is empty.')
  assert.equal(iterations, 3)
  assert.deepEqual(usage, usagePerCall, 'the usage of earlier responses is in the journal already')
  assert.deepEqual(shape(provider.requests[2]?.messages), [
    'user: what is in the file?',
    'assistant: Let me look.',
    'a=found a',
    'b=found b',
    'assistant: ',
    'c=found c',
  ])
  assert.equal(journal.events[0], 'answer', 'the response is stored before its first tool runs')
  assert.deepEqual(listener.steps, [
    { iteration: 1, tools: [] },
    { iteration: 2, tools: ['read', 'read'] },
    { iteration: 3, tools: ['read'] },
  ])
  assert.deepEqual(listener.texts, ['Let me look.', 'It is empty.'])
})

test('the model gets tool results in the order of the calls, whichever completes first', async () => {
  const slow = Promise.withResolvers<string>()
  const { result, provider } = runTestAgent([asks(call('a', 'slow'), call('b', 'quick')), { chunks: ['ok'] }], {
    slow: () => slow.promise,
    quick: async () => {
      slow.resolve('slow')
      return 'quick'
    },
  })
  await result
  assert.deepEqual(shape(provider.requests[1]?.messages).slice(2), ['a=slow', 'b=quick'])
})

test('a failing tool, an unknown tool and invalid arguments give error results, and the turn continues', async () => {
  const { result, provider } = runTestAgent(
    [
      asks(call('a', 'broken'), call('b', 'unknown'), { id: 'c', name: 'broken', arguments: '{"path": "half' }),
      { chunks: ['sorry'] },
    ],
    {
      broken: async () => {
        throw new Error('boom')
      },
    },
  )
  assert.equal((await result).text, 'sorry')
  const results = shape(provider.requests[1]?.messages).slice(2)
  assert.match(results[0] ?? '', /^a=\{"error":".*boom/)
  assert.match(results[1] ?? '', /^b=\{"error":".*\bunknown\b/)
  assert.match(results[2] ?? '', /^c=\{"error":".*\bbroken\b/)
})

test('at the iteration limit the model is asked for a summary, and its tool calls are not executed', async () => {
  let runs = 0
  const { result, provider, journal } = runTestAgent(
    [
      asks(call('a', 'count')),
      asks(call('b', 'count')),
      { chunks: ['I counted twice.'], calls: [call('c', 'count')], providerItems: ['item'] },
    ],
    { count: async () => String(++runs) },
    { maxIterations: 2 },
  )
  const { text, message, finishReason, iterations } = await result
  assert.equal(text, 'I counted twice.')
  assert.deepEqual(message, { role: 'assistant', content: 'I counted twice.' })
  assert.equal(finishReason, 'max_iterations')
  assert.equal(iterations, 3)
  assert.equal(runs, 2)
  const last = provider.requests[2]
  assert.equal(last?.messages.at(-1)?.role, 'user', 'the request for a summary')
  assert.match(shape(last?.messages).at(-2) ?? '', /^b=2/)
  assert.deepEqual(last?.tools, provider.requests[0]?.tools, 'the cached prefix of the prompt does not change')
  assert.equal(
    journal.messages.filter(({ role }) => role === 'user').length,
    0,
    'the request is not part of the transcript',
  )
})

test('the model is notified at 70 % and at 90 % of its iterations, only in the request', async () => {
  const script = Array.from({ length: 9 }, (_, index) => asks(call(`c${index}`, 'look', { index })))
  const { result, provider, journal } = runTestAgent(
    [...script, { chunks: ['done'] }],
    { look: async () => 'seen' },
    { maxIterations: 10 },
  )
  await result
  const notes = provider.requests.slice(1).map(({ messages }) => messages.at(-1)?.content ?? '')
  assert.deepEqual(
    notes.slice(0, 6),
    Array.from({ length: 6 }, () => 'seen'),
  )
  assert.match(notes[6] ?? '', /^seen\n\n\[\w+ 7 \w+ 10\b.*\]$/)
  assert.equal(notes[7], notes[6]?.replace('7', '8'), 'the same notice up to 90 %')
  assert.match(notes[8] ?? '', /^seen\n\n\[\w+ 9 \w+ 10\b.*\]$/)
  assert.notEqual(notes[8], notes[7]?.replace('8', '9'), 'another notice at 90 %')
  assert.ok(journal.messages.every(({ content }) => !content.includes('[')))
  const again = provider.requests[9]?.messages.map(({ content }) => content) ?? []
  for (const asked of provider.requests) {
    const earlier = asked.messages.map(({ content }) => content)
    assert.deepEqual(again.slice(0, earlier.length), earlier, 'messages of earlier requests are never changed')
  }
})

test('tool call ids that a server repeats in every response are made unique', async () => {
  const earlier: ChatMessage[] = [
    { role: 'assistant', content: '', toolCalls: [call('call_0', 'look')] },
    { role: 'tool', toolCallId: 'call_0', name: 'look', content: 'an earlier turn' },
    { role: 'assistant', content: 'yes' },
  ]
  const transcript = [question, ...earlier, question]
  const { result, provider } = runTestAgent(
    [
      asks(call('call_0', 'look'), call('call_0', 'look')),
      asks(call('call_0', 'look'), call('', 'look'), call('', 'look')),
      { chunks: ['ok'] },
    ],
    { look: async ({ id }) => `seen by ${id}` },
    { transcript, turnStart: 4 },
  )
  await result
  assert.deepEqual(shape(provider.requests[2]?.messages).slice(5), [
    'assistant: ',
    'call_0_2=seen by call_0_2',
    'call_0_3=seen by call_0_3',
    'assistant: ',
    'call_0_4=seen by call_0_4',
    'call=seen by call',
    'call_2=seen by call_2',
  ])
})

test('items that the vendor needs again are stored with the response and the model that created them', async () => {
  const { result, journal } = runTestAgent(
    [
      { calls: [call('a', 'look')], providerItems: [{ sealed: 1 }] },
      { chunks: ['ok'], providerItems: [{ sealed: 2 }] },
    ],
    { look: async () => 'seen' },
  )
  const { message } = await result
  const origin = { apiMode: 'chat_completions', baseUrl: 'http://127.0.0.1', model: 'm' }
  const [first] = journal.messages
  assert.deepEqual(first?.role === 'assistant' && first.providerData, {
    ...origin,
    items: [{ sealed: 1 }],
  })
  assert.deepEqual(message.providerData, { ...origin, items: [{ sealed: 2 }] })
})

test('the final answer is the text before the last tool calls if the last response has none', async () => {
  const { result } = runTestAgent([{ chunks: ['It is empty.'], calls: [call('a', 'look')] }, { chunks: ['\n'] }], {
    look: async () => 'seen',
  })
  assert.equal((await result).text, 'It is empty.')
})

test('a failed model call is retried within the turn, and its text is cleared', async () => {
  const { result, listener, pauses, provider } = runTestAgent(
    [
      { chunks: ['first part'], calls: [call('a', 'look')] },
      new ModelError('overloaded', 'busy'),
      { chunks: ['second'] },
    ],
    { look: async () => 'seen' },
  )
  assert.equal((await result).text, 'second')
  assert.deepEqual(pauses, [1_000])
  assert.equal(provider.calls(), 3)
  assert.deepEqual(listener.texts, ['first part', '', 'second'])
})

test('an error that is not retryable ends the turn', async () => {
  const { result } = runTestAgent([new ModelError('billing', 'no money')])
  await assert.rejects(result, (error) => error instanceof ModelError && error.kind === 'billing')
})

test('an abort while the model streams ends the turn at once', async () => {
  const { result, provider, stop } = runTestAgent([{ chunks: ['half'], hang: true }])
  await provider.hanging
  const reason = new Error('stop')
  stop.abort(reason)
  await assert.rejects(result, (error) => error === reason)
})

test('an abort while a tool runs reaches the tool, stores its result and makes no further model call', async () => {
  const started = Promise.withResolvers<void>()
  const { result, stop, journal, provider } = runTestAgent([asks(call('a', 'wait')), { chunks: ['never'] }], {
    wait: async (_call, { signal }) => {
      started.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      return 'cut short'
    },
  })
  await started.promise
  const reason = new Error('stop')
  stop.abort(reason)
  await assert.rejects(result, (error) => error === reason)
  assert.deepEqual(journal.events, ['answer', 'start a', 'end a done'])
  assert.equal(provider.calls(), 1)
})

test('a superseded turn ends', async () => {
  const memory = createInMemoryJournal()
  const journal = { ...memory, recordAssistantMessage: () => Promise.reject(new HermesError('store/fenced')) }
  const { result, provider } = runTestAgent(
    [asks(call('a', 'look')), { chunks: ['never'] }],
    { look: async () => '1' },
    { journal },
  )
  await assert.rejects(result, (error) => isHermesError(error, 'store/fenced'))
  assert.equal(provider.calls(), 1)
  assert.deepEqual(memory.events, [])
})

const cutOff: readonly ChatMessage[] = [
  { role: 'user', content: 'earlier' },
  { role: 'assistant', content: 'indeed' },
  question,
  { role: 'assistant', content: 'Let me look.', toolCalls: [call('a', 'look'), call('b', 'look'), call('c', 'look')] },
  { role: 'tool', toolCallId: 'b', name: 'look', content: 'seen b' },
]

test('an interrupted turn resumes with the tool calls without a result, before it calls the model', async () => {
  const { result, provider, journal, listener } = runTestAgent(
    [{ chunks: ['done'] }],
    { look: async ({ id }) => `seen ${id}` },
    { transcript: cutOff, turnStart: 2 },
  )
  const { text, iterations } = await result
  assert.equal(text, 'done')
  assert.equal(iterations, 2)
  assert.deepEqual(journal.events.toSorted(), ['end a done', 'end c done', 'start a', 'start c'])
  assert.equal(provider.calls(), 1)
  assert.deepEqual(shape(provider.requests[0]?.messages).slice(4).toSorted(), ['a=seen a', 'b=seen b', 'c=seen c'])
  assert.deepEqual(listener.steps, [{ iteration: 2, tools: ['look', 'look', 'look'] }])
})

test('a tool with an effect that was started before the crash is not repeated, its outcome is unknown', async () => {
  const ran: string[] = []
  const act: TestTool = async ({ id }) => {
    ran.push(id)
    return `seen ${id}`
  }
  const journal = createInMemoryJournal(['a'])
  const { result, provider } = runTestAgent(
    [{ chunks: ['done'] }],
    {},
    {
      transcript: cutOff,
      turnStart: 2,
      tools: createTestTools({ look: act }, { mode: 'effect', parallel: false }),
      journal,
    },
  )
  await result
  assert.deepEqual(ran, ['c'])
  const results = shape(provider.requests[0]?.messages).slice(4)
  assert.ok(journal.events.includes('end a interrupted'))
  assert.ok(results.some((line) => line.startsWith('a={"error":"')))
})

test('a turn that was interrupted after its last tool result calls the model and repeats no tool', async () => {
  const transcript: ChatMessage[] = [
    question,
    { role: 'assistant', content: '', toolCalls: [call('a', 'look')] },
    { role: 'tool', toolCallId: 'a', name: 'look', content: 'seen' },
  ]
  const { result, journal, listener } = runTestAgent([{ chunks: ['done'] }], {}, { transcript })
  assert.equal((await result).text, 'done')
  assert.deepEqual(journal.events, [])
  assert.deepEqual(listener.steps, [{ iteration: 2, tools: ['look'] }])
})

test('iterations before a crash count towards the limit', async () => {
  const { result, provider } = runTestAgent(
    [{ chunks: ['all I know'] }],
    { look: async () => 'seen' },
    { transcript: cutOff, turnStart: 2, maxIterations: 1 },
  )
  assert.equal((await result).finishReason, 'max_iterations')
  assert.equal(provider.requests[0]?.messages.at(-1)?.role, 'user', 'the request for a summary')
})

test('a program gets the failure of a server that is not started after 15 seconds, a user after two minutes', async () => {
  const refusals = () =>
    Array.from({ length: 60 }, () => new ModelError('network', 'refused', { isLocalRefusal: true }))
  for (const [isUnattended, windowMs] of [
    [true, 15_000],
    [false, 120_000],
  ] as const) {
    const { result, pauses } = runTestAgent(refusals(), {}, { isUnattended })
    await assert.rejects(result, (error) => error instanceof ModelOutage)
    assert.equal(
      pauses.reduce((sum, ms) => sum + ms, 0),
      windowMs,
    )
  }
})

test('a turn ends with a notice after five identical calls with the same result; alternating calls are found, too', async () => {
  for (const names of [['look'], ['look', 'read']]) {
    const script = Array.from({ length: 30 }, (_, at) => asks(call(`c${at}`, names[at % names.length] ?? '')))
    const { result, provider, journal } = runTestAgent(script, { look: async () => 'same', read: async () => 'same' })
    const { finishReason, text } = await result
    assert.equal(finishReason, 'identical_calls')
    assert.notEqual(text, '')
    assert.equal(provider.requests.length, names.length === 1 ? 5 : 9)
    const results = journal.messages.filter(({ role }) => role === 'tool')
    assert.equal(results.length, provider.requests.length, 'each call has its result')
  }
})

test('calls with other arguments or other results are no loop', async () => {
  let looks = 0
  const script = Array.from({ length: 12 }, (_, at) => asks(call(`c${at}`, at % 2 === 0 ? 'look' : 'read', { at })))
  const { result } = runTestAgent([...script, ...script.map(() => asks(call('d', 'look'))), { chunks: ['done'] }], {
    look: async () => String(looks++),
    read: async () => 'same',
  })
  assert.equal((await result).text, 'done')
})

test('a turn ends with a notice when it has used more tokens than permitted, after its tools have run', async () => {
  const limits: TurnLimits = { max_identical_calls: 5, max_turn_tokens: 100 }
  const state = restoreLoopState({ transcript: [], turnStart: 0 })
  countTokens(state, { ...noUsage, inputTokens: 60, outputTokens: 39 })
  assert.equal(findRunaway(state, limits), undefined)
  countTokens(state, { ...noUsage, outputTokens: 1 })
  assert.equal(findRunaway(state, limits)?.reason, 'token_limit')
  assert.equal(findRunaway(state, { max_identical_calls: 0 }), undefined, 'no limit by default')
})

test('a resumed turn counts the tokens of its earlier runs', async () => {
  const { result, provider } = runTestAgent(
    [{ chunks: ['done'] }],
    {},
    { settings: { agent: { ...settingsWith().agent, max_turn_tokens: 100 } }, usedTokens: 100 },
  )
  assert.equal((await result).finishReason, 'token_limit')
  assert.equal(provider.requests.length, 0)
})

test('after a compression, calls keep different ids and the model is still told about the limit of iterations', async () => {
  const steps = Array.from({ length: 4 }, () => asks(call('call_0', 'read')))
  const { result, provider, journal } = runTestAgent(
    [...steps, { chunks: ['ok'] }],
    { read: async ({ id }) => `found ${id}` },
    {
      maxIterations: 5,
      excess: (messages) => (messages.length > 4 ? 1 : null),
      // Only the newest call stays, as it is stored.
      compress: async () => [question, ...journal.messages.slice(-2)],
    },
  )
  await result
  const started = journal.events.filter((event) => event.startsWith('start'))
  assert.deepEqual(started, ['start call_0', 'start call_0_2', 'start call_0_3', 'start call_0_4'])
  const last = shape(provider.requests.at(-1)?.messages)
  assert.equal(last.length, 3)
  assert.match(last[2] ?? '', /call_0_4=found call_0_4\n\n\[Iteration 4 of 5/)
})

test('an interrupted turn counts the responses that a summary has replaced, and does not use their ids again', async () => {
  const { result, journal } = runTestAgent(
    [asks(call('call_0', 'read')), asks(call('x', 'read')), { chunks: ['the limit'] }],
    { read: async () => 'found' },
    { maxIterations: 5, storedResponses: { count: 3, callIds: ['call_0', 'call_0_2', 'call_0_3'] } },
  )
  const { iterations, finishReason } = await result
  assert.deepEqual([iterations, finishReason], [6, 'max_iterations'])
  assert.deepEqual(
    journal.events.filter((event) => event.startsWith('start')),
    ['start call_0_4', 'start x'],
  )
})
