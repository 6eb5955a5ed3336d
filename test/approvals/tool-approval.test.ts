/**
 * A tool that waits for a person, on a real store: one question for one action, whoever asks for it and how often.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ToolApprovalRequest } from '../../src/agent/loop/tool-approval.ts'
import { createCompletionSignals, createToolApproval } from '../../src/approvals/tool-approval.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import { turnInfo } from '../agent/run-test-agent.ts'
import { ada, key, room } from './support.ts'

const message: MessageEvent = { source: ada, text: 'do it', messageType: 'text', messageId: 'm0', timestamp: 1 }
const { signal } = new AbortController()

function asking(t: TestContext, event: MessageEvent | undefined = message) {
  const completionSignals = createCompletionSignals()
  const open = new Set([turnInfo.turnId])
  const under = room(t, {
    onResolved: completionSignals.complete,
    // biome-ignore lint/correctness/useYield: nothing is read
    *turnIsOpen(turnId) {
      return open.has(turnId)
    },
  })
  const stop = new AbortController()
  const letGo: SessionKey[] = []
  let waits = Promise.withResolvers<void>()
  const approve = createToolApproval({
    store: under.store,
    questions: under.questions,
    completionSignals,
    clock: under.clock.now,
    settings: () => ({ approvals: { timeout: 300, destructive_slash_confirm: false } }),
    redact: (text) => text,
    // biome-ignore lint/correctness/useYield: nothing is read
    *openTurnEvent() {
      return event === undefined ? undefined : { event, sessionKey: key }
    },
    stopping: stop.signal,
    abortTurn: (sessionKey) => void letGo.push(sessionKey),
    failpoint: (point) => point === 'approval:waiting' && waits.resolve(),
  })
  return {
    ...under,
    approve,
    stop,
    letGo,
    open,
    /** Asks, and resolves once it waits. */
    async begin(changes: Partial<ToolApprovalRequest> = {}, until = signal) {
      waits = Promise.withResolvers()
      const answer = approve(request(changes), until)
      await waits.promise
      return { answer, id: under.sent.at(-1)?.key.slice('question:'.length) ?? '' }
    },
  }
}

function request(changes: Partial<ToolApprovalRequest> = {}): ToolApprovalRequest {
  const call = { turn: turnInfo, toolName: 'terminal', toolCallId: 'c1', apiRequestId: 'r' }
  return { info: call, args: { command: 'ls' }, message: 'It runs a command.', ruleKey: 'commands', ...changes }
}

test('an action is asked once, also when its turn begins anew; another action is another question', async (t) => {
  const { begin, press, states, sent, approve } = asking(t)
  const { answer, id } = await begin()
  const again = await begin()
  assert.equal(sent.length, 1)
  await press(`appr:${id}:once`)
  assert.deepEqual([await answer, await again.answer], ['allow', 'allow'])
  assert.equal(await approve(request(), signal), 'allow', 'an answer holds for a third life, too')
  assert.deepEqual([states().length, sent[0]?.replyTo], [1, 'm0'])
  await begin({ args: { command: 'ls /' } })
  assert.equal(states().length, 2, 'other arguments are another action')
})

test('an answer for a rule holds for other actions of the rule, not for other rules', async (t) => {
  const { begin, press, states, approve } = asking(t)
  const { answer, id } = await begin()
  await press(`appr:${id}:session`)
  assert.equal(await answer, 'allow')
  assert.equal(await approve(request({ args: { command: 'pwd' } }), signal), 'allow')
  const turn = { ...turnInfo, sessionId: 'the next session' }
  await begin({ args: { command: 'date' }, info: { ...request().info, turn } })
  assert.equal(states().length, 2, 'another session is asked anew')
  await begin({ args: { command: 'pwd' }, ruleKey: 'another' })
  assert.equal(states().length, 3)
})

test('a stop takes the call back at once, with its own reason; the question waits for whoever ends the turn', async (t) => {
  const { begin, questions, open, sent, platformIds, states } = asking(t)
  const stop = new AbortController()
  const { answer, id } = await begin({}, stop.signal)
  platformIds.set(`question:${id}`, 'm1')
  const reason = new Error('stopped')
  stop.abort(reason)
  await assert.rejects(answer, reason)
  await questions.turnEnded(key)
  assert.equal(states()[0]?.['state'], 'waiting', 'the turn is open: it may go on')
  open.clear()
  await questions.turnEnded(key)
  assert.equal(states()[0]?.['state'], 'expired')
  assert.match(sent.at(-1)?.text ?? '', /\*Cancelled: the turn that asked has ended\.\*$/)
})

test('questions whose turn ended with the last process are closed at the start', async (t) => {
  const { begin, questions, open, states } = asking(t)
  void (await begin()).answer
  open.clear()
  const stop = new AbortController()
  const running = questions.run(stop.signal)
  stop.abort()
  await running
  assert.equal(states()[0]?.['state'], 'expired')
})

test('when the gateway stops, the turn is let go; an action that comes later is let go at once', async (t) => {
  const { begin, stop, letGo } = asking(t)
  void (await begin()).answer
  assert.deepEqual(letGo, [])
  stop.abort()
  assert.deepEqual(letGo, [key])
  void (await begin({ args: { command: 'pwd' } })).answer
  assert.deepEqual(letGo, [key, key])
})

test('nobody is asked where nobody sits: tasks, programs, single questions, and what belongs to no turn', async (t) => {
  const task = { id: 'bg', deliver: null, route: 'background' }
  for (const event of [
    { ...message, task },
    { ...message, allowGatewayControl: false },
    { ...message, metadata: { attended: 'no' } },
  ]) {
    const { approve, states } = asking(t, event)
    const answer = await approve(request(), signal)
    assert.ok(answer !== 'allow')
    assert.match(answer.deny, /terminal first \(It runs a command\.\), and no user can be asked here/)
    assert.deepEqual(states(), [])
  }
})

test('a message that a plugin hands in comes into a conversation with people: they are asked', async (t) => {
  const { begin } = asking(t, { ...message, internal: true, allowGatewayControl: false })
  await begin()
})
