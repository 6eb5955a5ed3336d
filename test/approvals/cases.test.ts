/**
 * The cases in which an approval could be obtained wrongly, as a table: forged, replayed, stale and changed requests, wrong
 * people, modes, and what an answer covers later.
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { z } from 'zod'
import { isOnAllowlist } from '../../src/agent/command-policy/command-shape.ts'
import type { ToolApprovalRequest } from '../../src/agent/loop/tool-approval.ts'
import type { ApprovalNeed } from '../../src/agent/tools/tool.ts'
import { createCompletionSignals } from '../../src/approvals/completion-signals.ts'
import { approvalsConfig } from '../../src/approvals/config.ts'
import { isPlainAnswer } from '../../src/approvals/plain-answer.ts'
import { grantUntilEnd, listGrants, revokeGrant, toggleYolo } from '../../src/approvals/queries.ts'
import { createToolApproval } from '../../src/approvals/tool-approval.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { rows } from '../../src/store/query.ts'
import { turnInfo } from '../agent/run-test-agent.ts'
import { ada, bob, key, openQuestions } from './support.ts'

const { signal } = new AbortController()
const eve: SessionSource = { ...ada, userId: 'u9', userName: 'Eve' }
const inGroup = (source: SessionSource): SessionSource => ({ ...source, chatType: 'group' })
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
const outside: Partial<ApprovalNeed> = { ruleKey: 'outside-sandbox', remember: 'call', ownerOnly: true }

interface Situation {
  /** `approvals` of config.yaml. */
  readonly approvals?: Readonly<Record<string, unknown>>
  readonly allowlist?: readonly string[]
  /** Ids of the owners; Ada (u7) has sent the message. */
  readonly owners?: readonly string[]
  readonly event?: Partial<MessageEvent>
  readonly need?: Partial<ApprovalNeed>
  readonly yolo?: boolean
  readonly verdict?: 'yes' | 'unclear' | 'fails'
}

function open(t: TestContext, { approvals = {}, allowlist = [], owners = [], event = {}, ...more }: Situation) {
  const completionSignals = createCompletionSignals()
  const openTurns = new Set([turnInfo.turnId])
  const under = openQuestions(t, {
    onResolved: completionSignals.complete,
    // biome-ignore lint/correctness/useYield: nothing is read
    *turnIsOpen(turnId) {
      return openTurns.has(turnId)
    },
  })
  for (const owner of owners) under.owners.add(owner)
  const settings = z.object(approvalsConfig).parse({ approvals, command_allowlist: allowlist })
  let waits = Promise.withResolvers<void>()
  const approve = createToolApproval({
    store: under.store,
    questions: under.questions,
    completionSignals,
    clock: under.clock.now,
    log: silentLog,
    settings: () => settings,
    roleOf: ({ userId = '' }) => (under.owners.has(userId) ? 'owner' : 'member'),
    isOnAllowlist,
    rememberCommand: async () => undefined,
    yoloMode: more.yolo ?? false,
    async judge() {
      if (more.verdict === 'fails') throw new Error('no model')
      return more.verdict ?? 'unclear'
    },
    endTurn: async () => undefined,
    redact: (text) => text,
    // biome-ignore lint/correctness/useYield: nothing is read
    *openTurnEvent() {
      return { event: { ...message, ...event }, sessionKey: key }
    },
    stopping: signal,
    abortTurn: () => undefined,
    waitInTurn: (_sessionKey, wait) => wait(),
    failpoint: (point) => point === 'approval:waiting' && waits.resolve(),
  })
  return {
    ...under,
    openTurns,
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

interface Attempt extends Situation {
  readonly name: string
  /** Presses in order: the button (`#` stands for the id of the question) and who presses it. */
  readonly presses?: readonly (readonly [button: string, by: SessionSource])[]
  readonly statuses?: readonly string[]
  /** The decision, or `waiting` while no one has decided. */
  readonly outcome: 'allow' | 'deny' | 'waiting'
}

const group = { event: { source: inGroup(ada) } } as const
const task = (route: string): Situation => ({ event: { task: { id: 'bg_1', deliver: null, route } } })
const unattended = (platform: string): Situation => ({
  event: { source: { ...ada, platform }, metadata: { attended: 'no' } },
})

const attempts: readonly Attempt[] = [
  { name: 'allowed once by the requester', presses: [['appr:#:once', ada]], statuses: ['taken'], outcome: 'allow' },
  { name: 'denied by the requester', presses: [['appr:#:deny', ada]], statuses: ['taken'], outcome: 'deny' },
  {
    name: 'a second press changes nothing',
    presses: [
      ['appr:#:deny', ada],
      ['appr:#:once', ada],
    ],
    statuses: ['taken', 'stale'],
    outcome: 'deny',
  },
  {
    name: 'a replayed press is stale',
    presses: [
      ['appr:#:once', ada],
      ['appr:#:once', ada],
    ],
    statuses: ['taken', 'stale'],
    outcome: 'allow',
  },
  { name: 'a forged question id', presses: [['appr:guessed:once', ada]], statuses: ['stale'], outcome: 'waiting' },
  { name: 'a forged choice', presses: [['appr:#:forever', ada]], statuses: ['stale'], outcome: 'waiting' },
  { name: 'a button of another kind', presses: [['cl:#:0', ada]], statuses: ['stale'], outcome: 'waiting' },
  { name: 'a confirmation button', presses: [['sc:once:#', ada]], statuses: ['stale'], outcome: 'waiting' },
  { name: 'a button with more parts', presses: [['appr:#:once:x', ada]], statuses: ['stale'], outcome: 'waiting' },
  {
    name: 'a press in another chat',
    presses: [['appr:#:once', { ...ada, chatId: 'elsewhere' }]],
    statuses: ['stale'],
    outcome: 'waiting',
  },
  {
    name: 'a press on another platform',
    presses: [['appr:#:once', { ...ada, platform: 'other' }]],
    statuses: ['stale'],
    outcome: 'waiting',
  },
  { name: 'a press of another member', presses: [['appr:#:once', bob]], statuses: ['refused'], outcome: 'waiting' },
  {
    name: 'a press without a user id',
    presses: [['appr:#:once', { ...ada, userId: '' }]],
    statuses: ['refused'],
    outcome: 'waiting',
  },
  {
    name: 'an owner allows what a member asked',
    ...group,
    owners: ['u8'],
    presses: [['appr:#:once', bob]],
    statuses: ['taken'],
    outcome: 'allow',
  },
  {
    name: 'approver owner: the requesting member is refused, an owner is not',
    ...group,
    owners: ['u8'],
    approvals: { approver: 'owner' },
    presses: [
      ['appr:#:once', ada],
      ['appr:#:once', bob],
    ],
    statuses: ['refused', 'taken'],
    outcome: 'allow',
  },
  {
    name: 'approver other_owner: the requesting owner is refused',
    ...group,
    owners: ['u7', 'u8'],
    approvals: { approver: 'other_owner' },
    presses: [
      ['appr:#:once', ada],
      ['appr:#:once', eve],
    ],
    statuses: ['refused', 'refused'],
    outcome: 'waiting',
  },
  {
    name: 'approver other_owner: another owner may',
    ...group,
    owners: ['u7', 'u8'],
    approvals: { approver: 'other_owner' },
    presses: [['appr:#:once', bob]],
    statuses: ['taken'],
    outcome: 'allow',
  },
  { name: 'approver owner: a member alone is denied', approvals: { approver: 'owner' }, outcome: 'deny' },
  {
    name: 'approver other_owner: an owner alone is denied',
    owners: ['u7'],
    approvals: { approver: 'other_owner' },
    outcome: 'deny',
  },
  { name: 'mode off runs it', approvals: { mode: 'off' }, outcome: 'allow' },
  { name: 'mode smart with a clear yes', approvals: { mode: 'smart' }, verdict: 'yes', outcome: 'allow' },
  { name: 'mode smart without a clear yes', approvals: { mode: 'smart' }, outcome: 'waiting' },
  { name: 'mode smart without a model', approvals: { mode: 'smart' }, verdict: 'fails', outcome: 'waiting' },
  { name: 'yolo of an owner', yolo: true, owners: ['u7'], outcome: 'allow' },
  { name: 'yolo does not apply to a member', yolo: true, outcome: 'waiting' },
  { name: 'an entry of the list', allowlist: ['rm -r build'], outcome: 'allow' },
  { name: 'another path is another entry', allowlist: ['rm -r dist'], outcome: 'waiting' },
  {
    name: 'an entry does not cover a command that is appended',
    allowlist: ['rm -r *'],
    need: { command: 'rm -r build; rm -r /srv' },
    outcome: 'waiting',
  },
  {
    name: 'an entry does not cover a path with a slash',
    allowlist: ['rm -r *'],
    need: { command: 'rm -r ../other' },
    outcome: 'waiting',
  },
  {
    name: 'outside the sandbox: mode off asks',
    owners: ['u7'],
    approvals: { mode: 'off' },
    need: outside,
    outcome: 'waiting',
  },
  { name: 'outside the sandbox: yolo asks', owners: ['u7'], yolo: true, need: outside, outcome: 'waiting' },
  {
    name: 'outside the sandbox: a clear yes of a model asks',
    owners: ['u7'],
    approvals: { mode: 'smart' },
    verdict: 'yes',
    need: outside,
    outcome: 'waiting',
  },
  {
    name: 'outside the sandbox: the list asks',
    owners: ['u7'],
    allowlist: ['rm -r build'],
    need: outside,
    outcome: 'waiting',
  },
  { name: 'outside the sandbox: a member alone is denied', need: outside, outcome: 'deny' },
  {
    name: 'outside the sandbox: an answer for the session is not offered',
    owners: ['u7'],
    need: outside,
    presses: [
      ['appr:#:session', ada],
      ['appr:#:always', ada],
    ],
    statuses: ['stale', 'stale'],
    outcome: 'waiting',
  },
  {
    name: 'outside the sandbox: unattended approve is denied',
    ...unattended('chat'),
    owners: ['u7'],
    approvals: { unattended_mode: 'approve' },
    need: outside,
    outcome: 'deny',
  },
  { name: 'a scheduled turn is denied', ...task('cron:daily'), outcome: 'deny' },
  { name: 'cron_mode approve', ...task('cron:daily'), approvals: { cron_mode: 'approve' }, outcome: 'allow' },
  {
    name: 'cron_mode is not for other tasks',
    ...task('background'),
    approvals: { cron_mode: 'approve' },
    outcome: 'deny',
  },
  { name: 'a program is denied', ...unattended('api_server'), outcome: 'deny' },
  {
    name: 'unattended_mode approve',
    ...unattended('api_server'),
    approvals: { unattended_mode: 'approve' },
    outcome: 'allow',
  },
  {
    name: 'single_query_mode approve',
    ...unattended('cli'),
    approvals: { single_query_mode: 'approve' },
    outcome: 'allow',
  },
  {
    name: 'single_query_mode is not for programs',
    ...unattended('api_server'),
    approvals: { single_query_mode: 'approve' },
    outcome: 'deny',
  },
  {
    name: 'a plugin is not settled by mode off',
    approvals: { mode: 'off' },
    need: { source: 'plugin' },
    outcome: 'waiting',
  },
]

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
    opened.openTurns.clear()
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
