/**
 * The cases in which an approval could be obtained wrongly, as a table: forged, replayed, stale and changed requests, wrong
 * people, modes, and what an answer covers later.
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { z } from 'zod'
import type { ToolApprovalRequest } from '../../src/agent/loop/tool-approval.ts'
import type { ApprovalNeed } from '../../src/agent/tools/tool.ts'
import { approvalsConfig } from '../../src/approvals/config.ts'
import { isPlainAnswer } from '../../src/approvals/plain-answer.ts'
import { grantUntilEnd, listGrants, revokeGrant, toggleYolo } from '../../src/approvals/queries.ts'
import { createToolApproval } from '../../src/approvals/tool-approval.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import { rows } from '../../src/store/query.ts'
import { turnInfo } from '../agent/run-test-agent.ts'
import { attempts, inGroup, type Situation } from './attempts.ts'
import { ada, bob, key, openQuestions } from './support.ts'

const { signal } = new AbortController()
const message: MessageEvent = { source: ada, text: 'do it', messageType: 'text', messageId: 'm0', timestamp: 1 }

const removal: ApprovalNeed = {
  source: 'policy',
  ruleKey: 'remove-recursive',
  reason: 'This command removes directories.',
  command: 'rm -r build',
  place: '/work (local)',
  remember: 'always',
  shape: 'rm -r build',
}
function open(t: TestContext, { approvals = {}, allowlist = [], owners = [], event = {}, ...more }: Situation) {
  const under = openQuestions(t)
  under.openTurn(turnInfo.turnId, { ...message, ...event })
  for (const owner of owners) under.owners.add(owner)
  const settings = z.object(approvalsConfig).parse({ approvals, command_allowlist: allowlist })
  const judgements = { count: 0 }
  let waits = Promise.withResolvers<void>()
  const approve = createToolApproval({
    store: under.store,
    questions: under.questions,
    clock: under.clock.now,
    log: silentLog,
    settings: () => settings,
    accounts: under.accounts,
    async rememberCommand(shape) {
      if (more.isConfigReadOnly === true) throw new Error('read-only')
      settings.command_allowlist.push(shape)
    },
    yoloMode: more.yolo ?? false,
    async judge() {
      judgements.count += 1
      if (more.verdict === 'fails') throw new Error('no model')
      return more.verdict ?? 'unclear'
    },
    endTurn: async () => undefined,
    redact: (text) => text,
    stopping: signal,
    abortTurn: () => undefined,
    waitInTurn: (_sessionKey, wait) => wait(),
    failpoint: (point) => point === 'approval:waiting' && waits.resolve(),
  })
  return {
    ...under,
    settings,
    judgements,
    /** Requests an approval. Resolves with a decision, or once the question waits for its answer. */
    async request(changes: Partial<ToolApprovalRequest> = {}, need: Partial<ApprovalNeed> = {}) {
      waits = Promise.withResolvers()
      const given = { ...removal, ...more.need, ...need }
      const info = { turn: turnInfo, toolName: 'terminal', toolCallId: 'c1', apiRequestId: 'r' }
      const answer = approve({ info, args: { command: given.command ?? '' }, needs: [given], ...changes }, signal)
      const decided = answer.then((decision) => (decision === 'allow' ? 'allow' : 'deny'))
      const state = await Promise.race([decided, waits.promise.then(() => 'waiting' as const)])
      return { state, decided, id: under.sent.at(-1)?.key.slice('question:'.length) ?? '' }
    },
  }
}

type Opened = ReturnType<typeof open>
type Asked = Awaited<ReturnType<Opened['request']>>

async function outcomeOf(opened: Opened, { state, decided, id }: Asked): Promise<string> {
  if (state !== 'waiting') return state
  const isWaiting = opened.states().some((question) => question['id'] === id && question['state'] === 'waiting')
  return isWaiting ? 'waiting' : await decided
}

describe('an approval', () => {
  for (const { name, presses = [], statuses = [], outcome, ...situation } of attempts) {
    test(name, async (t) => {
      const opened = open(t, situation)
      const asked = await opened.request()
      const seen: string[] = []
      for (const [button, by] of presses) {
        const source = situation.event?.source?.chatType === 'group' ? inGroup(by) : by
        seen.push((await opened.press(button.replace('#', asked.id), source)).status)
      }
      assert.deepEqual([seen, await outcomeOf(opened, asked)], [statuses, outcome])
    })
  }

  test('that an owner takes back from the list is asked again in its conversation', async (t) => {
    const opened = open(t, { owners: ['u7'] })
    const { id, decided } = await opened.request()
    await opened.press(`appr:${id}:always`)
    assert.equal(await decided, 'allow')
    assert.deepEqual(opened.settings.command_allowlist.splice(0), ['rm -r build'])
    const info = { turn: turnInfo, toolName: 'terminal', toolCallId: 'c2', apiRequestId: 'r' }
    assert.equal((await opened.request({ info })).state, 'waiting')
  })

  test('that cannot be written to the list holds in its conversation', async (t) => {
    const opened = open(t, { owners: ['u7'], isConfigReadOnly: true })
    const { id, decided } = await opened.request()
    await opened.press(`appr:${id}:always`)
    assert.equal(await decided, 'allow')
    const info = { turn: turnInfo, toolName: 'terminal', toolCallId: 'c2', apiRequestId: 'r' }
    assert.equal((await opened.request({ info })).state, 'allow')
  })

  test('asks no model about what is allowed, answered or refused without it', async (t) => {
    const smart = { approvals: { mode: 'smart' }, verdict: 'yes' } as const
    const listed = open(t, { ...smart, allowlist: ['rm -r build'] })
    const refused = open(t, { ...smart, event: { metadata: { attended: 'no' } } })
    const asked = open(t, { ...smart, verdict: 'unclear' })
    const states = [await listed.request(), await refused.request(), await asked.request(), await asked.request()]
    assert.deepEqual(
      states.map(({ state }) => state),
      ['allow', 'deny', 'waiting', 'waiting'],
    )
    assert.deepEqual([listed.judgements.count, refused.judgements.count, asked.judgements.count], [0, 0, 1])
  })

  test('of an expired question is a denial, and a late press changes nothing', async (t) => {
    const opened = open(t, {})
    const { id, decided } = await opened.request()
    opened.clock.advance(301_000)
    assert.equal((await opened.press(`appr:${id}:once`)).status, 'stale')
    assert.equal(await decided, 'deny')
  })

  test('of a turn that has ended is stale', async (t) => {
    const opened = open(t, {})
    const { id } = await opened.request()
    opened.endTurns()
    await opened.questions.turnEnded(key)
    assert.equal((await opened.press(`appr:${id}:once`)).status, 'stale')
  })

  test('holds for the arguments and the place that were shown', async (t) => {
    const opened = open(t, {})
    const { id, decided } = await opened.request()
    await opened.press(`appr:${id}:once`)
    assert.equal(await decided, 'allow')
    assert.equal((await opened.request()).state, 'allow', 'the same call of a resumed turn')
    assert.equal((await opened.request({ args: { command: 'rm -r build', timeout: 9 } })).state, 'waiting')
    assert.equal((await opened.request({}, { place: '/work (local, outside the sandbox)' })).state, 'waiting')
  })

  test('of arguments that a plugin changed after the yes is asked again, without the values that it inserted', async (t) => {
    const opened = open(t, { approvals: { mode: 'smart' }, verdict: 'yes' })
    const approvedArgs = { command: 'rm -r [secret:1a2b3c4d]' }
    const { id, state, decided } = await opened.request(
      { args: { command: 'rm -r PIN-4711' }, approvedArgs },
      { command: 'rm -r PIN-4711', shape: 'rm -r PIN-4711' },
    )
    assert.equal(state, 'waiting', 'no model has read it')
    assert.doesNotMatch(JSON.stringify(opened.sent), /4711/)
    assert.match(opened.sent.at(-1)?.text ?? '', /rm -r \[secret:1a2b3c4d\]/)
    assert.equal((await opened.press(`appr:${id}:always`)).status, 'stale', 'it holds for this call only')
    await opened.press(`appr:${id}:once`)
    assert.equal(await decided, 'allow')
  })

  test('for the session covers the shape and the place, ends with the session, and can be revoked', async (t) => {
    const opened = open(t, {})
    const { id, decided } = await opened.request()
    await opened.press(`appr:${id}:session`)
    await decided
    const next = (sessionId: string, toolCallId: string) => ({
      info: { turn: { ...turnInfo, sessionId }, toolName: 'terminal', toolCallId, apiRequestId: 'r' },
    })
    assert.equal((await opened.request(next(turnInfo.sessionId, 'c2'))).state, 'allow')
    assert.equal((await opened.request(next(turnInfo.sessionId, 'c3'), { place: '/srv (local)' })).state, 'waiting')
    assert.equal((await opened.request(next('another', 'c4'))).state, 'waiting')
    const granted = await opened.store.run(() => rows(listGrants, { limit: 10 }))
    assert.equal(granted.length, 1)
    assert.ok(await opened.store.run(() => revokeGrant(granted[0]?.id ?? 0)))
    assert.equal((await opened.request(next(turnInfo.sessionId, 'c5'))).state, 'waiting')
  })

  test('a grant of the words of a rule is not /yolo, and /yolo of another session does not count', async (t) => {
    const opened = open(t, { owners: ['u7'] })
    await opened.store.run(() => grantUntilEnd('another', 'yolo', 'u7', 1))
    assert.equal((await opened.request()).state, 'waiting')
    await opened.store.run(() => toggleYolo(turnInfo.sessionId, 'u7', 1))
    const info = { turn: turnInfo, toolName: 'terminal', toolCallId: 'c2', apiRequestId: 'r' }
    assert.equal((await opened.request({ info })).state, 'allow')
  })

  test('ten open questions are answered in their order, and each answer counts for one', async (t) => {
    const opened = open(t, {})
    const asked: Asked[] = []
    for (let count = 0; count < 10; count += 1) {
      const command = `rm -r build-${count}`
      asked.push(await opened.request({}, { command, shape: command }))
    }
    for (let count = 0; count < 10; count += 1) {
      await opened.typed(count % 2 === 0 ? 'approve' : 'deny')
      assert.equal(await asked[count]?.decided, count % 2 === 0 ? 'allow' : 'deny')
      assert.equal(opened.states().filter(({ state }) => state === 'waiting').length, 9 - count)
    }
  })

  test('typed by another member is refused, and plain words count only from the person in a private chat', async (t) => {
    const opened = open(t, {})
    const asked = await opened.request()
    await opened.typed('approve', { by: bob })
    assert.equal(await outcomeOf(opened, asked), 'waiting')
    const question = { kind: 'approval', source: ada } as const
    const says = (text: string, source = ada, more: Partial<MessageEvent> = {}) =>
      isPlainAnswer({ ...message, text, source, ...more }, [question])
    assert.deepEqual(
      [says('yes'), says('👍🏿'), says('no.'), says('yes please do it'), says('yes', bob), says('yes', inGroup(ada))],
      [true, true, true, false, false, false],
    )
    assert.deepEqual(
      [says('yes', ada, { internal: true }), says('yes', ada, { allowGatewayControl: false })],
      [false, false],
    )
  })

  test('shows what a command hides: direction marks, empty space, its end and its hash', async (t) => {
    const opened = open(t, {})
    const shown = async (command: string) => {
      await opened.request({}, { command, shape: command })
      return opened.sent.at(-1)?.text ?? ''
    }
    assert.match(await shown('rm -r a\u202Egnp.'), /\\u\{202e\}/)
    assert.match(await shown('rm -r a\u200B'), /\\u\{200b\}/)
    assert.match(await shown(`rm -r a${' '.repeat(500)}; rm -r b`), /500 spaces.*; rm -r b/)
    assert.match(await shown(`rm -r a${'\n'.repeat(300)}rm -r b`), /empty lines.*\n?rm -r b/)
    const long = await shown(`rm -r ${'a/'.repeat(9_000)} && rm -r /srv/end`)
    assert.match(long, /sha256 [0-9a-f]{64}/)
    assert.match(long, /rm -r \/srv\/end/)
    assert.ok(long.length < 4_000)
    assert.doesNotMatch(await shown('rm -r a\n```\nAllowed: nothing'), /\n```\nAllowed/)
  })
})
