/**
 * Approvals of tools on a real store: each action is asked once, however often it is requested.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import type { ToolApprovalRequest } from '../../src/agent/loop/tool-approval.ts'
import type { ApprovalNeed } from '../../src/agent/tools/tool.ts'
import { approvalsConfig } from '../../src/approvals/config.ts'
import { createToolApproval } from '../../src/approvals/tool-approval.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import { turnInfo } from '../agent/run-test-agent.ts'
import { ada, key, openQuestions } from './support.ts'

const message: MessageEvent = { source: ada, text: 'do it', messageType: 'text', messageId: 'm0', timestamp: 1 }
const { signal } = new AbortController()
const defaultApprovals = z.object(approvalsConfig).parse({})

function asking(t: TestContext, event: MessageEvent | undefined = message) {
  const under = openQuestions(t)
  if (event !== undefined) under.openTurn(turnInfo.turnId, event)
  const stop = new AbortController()
  const abortedTurns: SessionKey[] = []
  let waits = Promise.withResolvers<void>()
  const approve = createToolApproval({
    store: under.store,
    questions: under.questions,
    clock: under.clock.now,
    log: silentLog,
    settings: () => defaultApprovals,
    accounts: under.accounts,
    rememberCommand: async () => undefined,
    yoloMode: false,
    judge: async () => 'unclear',
    endTurn: async () => undefined,
    redact: (text) => text,
    stopping: stop.signal,
    abortTurn: (sessionKey) => void abortedTurns.push(sessionKey),
    waitInTurn: (_sessionKey, wait) => wait(),
    failpoint: (point) => point === 'approval:waiting' && waits.resolve(),
  })
  return {
    ...under,
    approve,
    stop,
    abortedTurns,
    /** Requests an approval and resolves once it waits for the answer. */
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
  return { info: call, args: { command: 'ls' }, needs: [pluginNeed('commands')], ...changes }
}

function pluginNeed(ruleKey: string): ApprovalNeed {
  return { source: 'plugin', ruleKey, reason: 'It runs a command.', place: '', remember: 'always' }
}

test('an action is asked once, also when its turn is resumed, and another action separately', async (t) => {
  const { begin, press, states, sent, approve } = asking(t)
  const { answer, id } = await begin()
  const again = await begin()
  assert.equal(sent.length, 1)
  await press(`appr:${id}:once`)
  assert.deepEqual([await answer, await again.answer], ['allow', 'allow'])
  assert.equal(await approve(request(), signal), 'allow', 'the stored answer is used again')
  assert.deepEqual([states().length, sent[0]?.replyTo], [1, 'm0'])
  await begin({ args: { command: 'ls /' } })
  assert.equal(states().length, 2, 'other arguments are another action')
})

test('a grant applies to other actions of its rule, but not to other rules or sessions', async (t) => {
  const { begin, press, states, approve } = asking(t)
  const { answer, id } = await begin()
  await press(`appr:${id}:session`)
  assert.equal(await answer, 'allow')
  assert.equal(await approve(request({ args: { command: 'pwd' } }), signal), 'allow')
  const turn = { ...turnInfo, sessionId: 'the next session' }
  await begin({ args: { command: 'date' }, info: { ...request().info, turn } })
  assert.equal(states().length, 2, 'another session is asked again')
  await begin({ args: { command: 'pwd' }, needs: [pluginNeed('another')] })
  assert.equal(states().length, 3)
})

test('a stop rejects the call at once with its reason, and the question stays open until the turn ends', async (t) => {
  const { begin, questions, endTurns, sent, show, states } = asking(t)
  const stop = new AbortController()
  const { answer, id } = await begin({}, stop.signal)
  show(`question:${id}`, 'm1')
  const reason = new Error('stopped')
  stop.abort(reason)
  await assert.rejects(answer, reason)
  await questions.turnEnded(key)
  assert.equal(states()[0]?.['state'], 'waiting', 'the turn is still open')
  endTurns()
  await questions.turnEnded(key)
  assert.equal(states()[0]?.['state'], 'expired')
  assert.match(sent.at(-1)?.text ?? '', /\n\n\*[^*]+\*$/, 'the question shows that it is cancelled')
})

test('questions whose turn ended with the last process are cancelled at the start', async (t) => {
  const { begin, questions, endTurns, states } = asking(t)
  void (await begin()).answer
  endTurns()
  const stop = new AbortController()
  const running = questions.run(stop.signal)
  stop.abort()
  await running
  assert.equal(states()[0]?.['state'], 'expired')
})

test('a stopping gateway aborts the waiting turn, and a later one at once', async (t) => {
  const { begin, stop, abortedTurns } = asking(t)
  void (await begin()).answer
  assert.deepEqual(abortedTurns, [])
  stop.abort()
  assert.deepEqual(abortedTurns, [key])
  void (await begin({ args: { command: 'pwd' } })).answer
  assert.deepEqual(abortedTurns, [key, key])
})

test('unattended tools are denied without a question: tasks, programs and one-shot messages', async (t) => {
  const task = { id: 'bg', deliver: null, route: 'background' }
  for (const event of [
    { ...message, task },
    { ...message, metadata: { attended: 'no' } },
  ]) {
    const { approve, states } = asking(t, event)
    const answer = await approve(request(), signal)
    assert.ok(answer !== 'allow')
    assert.match(answer.deny, /terminal.*It runs a command\./)
    assert.deepEqual(states(), [])
  }
})

test('a program that shows the questions of its request is asked', async (t) => {
  const { begin } = asking(t, { ...message, metadata: { attended: 'asks' } })
  await begin()
})

test('an approval is asked in a turn that begins with a forwarded message, whose text is no command', async (t) => {
  const { begin } = asking(t, { ...message, text: '[Forwarded from Eve]\n/approve', allowGatewayControl: false })
  await begin()
})

test('an approval is asked in a turn that a plugin has started with a message', async (t) => {
  const { begin } = asking(t, { ...message, internal: true, allowGatewayControl: false })
  await begin()
})
