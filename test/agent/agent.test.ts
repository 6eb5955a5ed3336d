import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../src/agent/models/provider.ts'
import type { AgentHooks, TurnEndInfo } from '../../src/agent/support/agent-hooks.ts'
import { HermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { ChatMessage } from '../../src/message/transcript.ts'
import { GuardrailRejected } from '../../src/middleware/guardrail-rejected.ts'
import { createMiddleware } from '../../src/middleware/middleware.ts'
import { call, type ScriptStep } from '../kit/scripted-provider.ts'
import { createInMemoryJournal } from './in-memory-deps.ts'
import { createRecordingHooks } from './recording-hooks.ts'
import { question, runTestAgent, type TestAgentOptions } from './run-test-agent.ts'

const asksForTool: ScriptStep = { chunks: ['Let me look.'], calls: [call('a', 'look')] }
const look = { look: async () => '"seen"' }

/** Records how a run ended. */
function endingRun(script: readonly ScriptStep[], setting: TestAgentOptions = {}, answers: Partial<AgentHooks> = {}) {
  const exits: TurnEndInfo[] = []
  const hooks = createRecordingHooks({ ...answers, onTurnEnd: async (_turn, how) => void exits.push(how) })
  return { ...runTestAgent(script, look, { ...setting, hooks }), exits, agentHooks: hooks }
}

test('the hooks of a first turn come in the order of the contract', async () => {
  const hooks = createRecordingHooks()
  await runTestAgent([asksForTool, { chunks: ['done'] }], look, { hooks }).result
  const tool = ['before tool', 'after tool']
  const expected = ['session start', 'context', 'request', 'response', ...tool, 'request', 'response', 'transform']
  assert.deepEqual(hooks.events, [...expected, 'answered', 'session end'])
})

test('on_session_start runs once per session, neither for later turns nor for a resumed first turn', async () => {
  const hooks = createRecordingHooks()
  await runTestAgent([{ chunks: ['ok'] }], {}, { hooks, startsSession: false }).result
  assert.deepEqual(hooks.events.slice(0, 2), ['context', 'request'])
})

test('the context of plugins follows the message of this turn in every request of the turn, and nowhere else', async () => {
  const earlier: ChatMessage[] = [
    { role: 'user', content: 'before' },
    { role: 'assistant', content: 'yes' },
  ]
  const transcript = [...earlier, question]
  const hooks = createRecordingHooks({ collectContext: async () => 'The user likes roses.' })
  const { result, provider, journal } = runTestAgent([asksForTool, { chunks: ['done'] }], look, {
    hooks,
    transcript,
    turnStart: 2,
  })
  await result
  const behind = `${question.content}\n\nThe user likes roses.`
  for (const { system, messages } of provider.requests) {
    assert.equal(system, 'be kind')
    assert.deepEqual(
      messages.filter(({ role }) => role === 'user').map(({ content }) => content),
      ['before', behind],
    )
  }
  assert.equal(transcript[2]?.content, question.content)
  assert.ok(journal.messages.every(({ content }) => !content.includes('roses')))
})

test('a context that changes with each turn does not change the bytes before the message of the turn', async () => {
  const sent: string[] = []
  const transcript: ChatMessage[] = []
  for (const turn of [1, 2, 3]) {
    transcript.push({ role: 'user', content: `question ${turn}` })
    const setting = { transcript: [...transcript], turnStart: transcript.length - 1, startsSession: turn === 1 }
    const hooks = createRecordingHooks({ collectContext: async () => `context ${turn}` })
    const { result, provider } = runTestAgent([{ chunks: [`answer ${turn}`] }], {}, { ...setting, hooks })
    transcript.push((await result).message)
    sent.push(JSON.stringify({ system: provider.requests[0]?.system, messages: provider.requests[0]?.messages }))
  }
  for (const [index, text] of sent.entries()) {
    const own = text.indexOf(`question ${index + 1}`)
    assert.ok(own > 0)
    for (const later of sent.slice(index + 1)) assert.equal(later.slice(0, own), text.slice(0, own))
  }
  assert.doesNotMatch(sent[2] ?? '', /context [12]/)
})

test('after a compression the context follows the same message', async () => {
  const compress = async (): Promise<ChatMessage[]> => [
    { role: 'user', content: 'a record of what was said' },
    { role: 'assistant', content: 'I see.' },
    { ...question },
  ]
  const hooks = createRecordingHooks({ collectContext: async () => 'hint' })
  const script = [new ModelError('context', 'too long'), { chunks: ['done'] }]
  const { result, provider } = runTestAgent(script, {}, { hooks, compress })
  await result
  assert.deepEqual(
    provider.requests[1]?.messages.map(({ content }) => content),
    ['a record of what was said', 'I see.', `${question.content}\n\nhint`],
  )
})

test('plugins get a copy of the conversation in the format of OpenAI', async () => {
  const histories: unknown[] = []
  const hooks = createRecordingHooks({
    collectContext: async (_turn, { history, isFirstTurn, userMessage }) => {
      histories.push({ isFirstTurn, userMessage, history: history() })
      return ''
    },
    onTurnResponse: async (_turn, { history, response }) => void histories.push({ response, history: history() }),
  })
  await runTestAgent([asksForTool, { chunks: ['done'] }], look, { hooks }).result
  const user = { role: 'user', content: question.content }
  const calls = [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }]
  assert.deepEqual(histories, [
    { isFirstTurn: true, userMessage: question.content, history: [user] },
    {
      response: 'done',
      history: [
        user,
        { role: 'assistant', content: 'Let me look.', tool_calls: calls },
        { role: 'tool', tool_call_id: 'a', name: 'look', content: '"seen"' },
        { role: 'assistant', content: 'done' },
      ],
    },
  ])
})

test('the output that a plugin transforms is sent and stored without the replaced text', async () => {
  const script = [asksForTool, { chunks: ['the key is 1234'], providerItems: [{ sealed: 'the key is 1234' }] }]
  const masked = async (_turn: unknown, text: string) => text.replace('1234', '****')
  const one = await runTestAgent(script, look, { hooks: { transformOutput: masked } }).result
  assert.equal(one.text, 'the key is ****')
  assert.deepEqual(one.message, { role: 'assistant', content: 'the key is ****' })
  const whole = await runTestAgent(script, look, { hooks: { transformOutput: async () => 'something else' } }).result
  assert.deepEqual([whole.text, whole.message.content], ['something else', 'something else'])
})

test('a turn without text has no response: the output hooks do not run', async () => {
  const { result, agentHooks, exits } = endingRun([{ chunks: [] }, { chunks: [] }, { chunks: [] }])
  assert.equal((await result).text, '')
  assert.ok(!agentHooks.events.includes('transform') && !agentHooks.events.includes('answered'))
  assert.deepEqual(exits, [{ completed: false, failed: false, interrupted: false, reason: 'stop' }])
})

test('every turn reports its end once: completed, out of iterations, failed, rejected, superseded, defective', async () => {
  const fenced = {
    ...createInMemoryJournal(),
    recordAssistantMessage: () => Promise.reject(new HermesError('store/fenced')),
  }
  const middleware = createMiddleware({ log: silentLog })
  middleware.registerGuardrail('hours', 'model', () => 'not at night')
  const interrupted = { completed: false, failed: false, interrupted: true }
  const failed = { completed: false, failed: true, interrupted: false }
  const done = { completed: true, failed: false, interrupted: false }
  const cases: [ReturnType<typeof endingRun>, TurnEndInfo][] = [
    [endingRun([{ chunks: ['ok'] }]), { ...done, reason: 'stop' }],
    [endingRun([asksForTool, { chunks: ['all I know'] }], { maxIterations: 1 }), { ...done, reason: 'max_iterations' }],
    [endingRun([new ModelError('billing', 'no money')]), { ...failed, reason: 'error: no money' }],
    [endingRun([], { middleware }), { ...failed, reason: 'error: guardrail rejected: not at night' }],
    [endingRun([asksForTool], { journal: fenced }), { ...interrupted, reason: 'overtaken' }],
    [endingRun([new TypeError('a defect')]), { ...failed, reason: 'error: a defect' }],
  ]
  for (const [{ result, exits }, expected] of cases) {
    await result.catch(() => undefined)
    assert.deepEqual(exits, [expected])
  }
})

test('an abort ends the turn as interrupted before, during and after the model call', async () => {
  const reason = new Error('stop')
  const forEver = () => new Promise<never>(() => undefined)
  for (const stuckIn of ['collectContext', 'onSessionStart', 'transformOutput', 'onTurnResponse'] as const) {
    const reached = Promise.withResolvers<void>()
    const stuck = () => {
      reached.resolve()
      return forEver()
    }
    const { result, stop, exits } = endingRun([{ chunks: ['ok'] }], {}, { [stuckIn]: stuck })
    await reached.promise
    stop.abort(reason)
    await assert.rejects(result, (error) => error === reason)
    assert.deepEqual(exits, [{ completed: false, failed: false, interrupted: true, reason: 'interrupted' }], stuckIn)
  }
  const { result, stop, exits, provider } = endingRun([{ chunks: ['half'], hang: true }])
  await provider.hanging
  stop.abort(reason)
  await assert.rejects(result, (error) => error === reason)
  assert.equal(exits[0]?.interrupted, true)
})

test('the rejection of a guardrail is thrown unchanged, and the model is not called', async () => {
  const middleware = createMiddleware({ log: silentLog })
  middleware.registerGuardrail('hours', 'model', () => 'not at night')
  const { result, provider, agentHooks } = endingRun([{ chunks: ['never'] }], { middleware })
  await assert.rejects(
    result,
    (error) => error instanceof GuardrailRejected && error.guardrail === 'hours' && error.reason === 'not at night',
  )
  assert.equal(provider.calls(), 0)
  assert.deepEqual(agentHooks.events, ['session start', 'context', 'session end'])
})

test('scopes are nested: session, turn, iteration, call', async () => {
  const middleware = createMiddleware({ log: silentLog })
  const seen: { name: string; parent: string | null; uuid: string }[] = []
  middleware.registerSubscriber('watch', ({ name, parent_uuid, uuid, scope_category }) => {
    if (scope_category === 'start') seen.push({ name, parent: parent_uuid, uuid })
  })
  await runTestAgent([asksForTool, { chunks: ['done'] }], look, { middleware }).result
  await middleware.flush()
  const nameOf = new Map(seen.map(({ uuid, name }) => [uuid, name]))
  assert.deepEqual(
    seen.map(({ name, parent }) => `${name} in ${nameOf.get(parent ?? '') ?? 'nothing'}`),
    [
      'session in nothing',
      'turn in session',
      'iteration in turn',
      'scripted in iteration',
      'look in iteration',
      'iteration in turn',
      'scripted in iteration',
    ],
  )
})
