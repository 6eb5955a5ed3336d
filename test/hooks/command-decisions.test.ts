/**
 * What the control lane makes of the decisions of hooks, and when it tells of a command.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { CommandDefinition } from '../../src/commands/command.ts'
import { type CommandDecisions, createCommandDecisions } from '../../src/flows/commands/command-decision.ts'
import { createCommandDispatcher } from '../../src/flows/commands/command-dispatcher.ts'
import type { CommandDecision } from '../../src/hooks/decision.ts'
import { createEventResults } from '../../src/inbox/inbox.ts'
import { brand } from '../../src/lib/ids.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import { inboxFor, keys, message } from '../inbox/support.ts'
import { ownerAuthority } from '../kit/authority.ts'
import { openOutbox } from '../outbox/support.ts'

const failIfCalled = () => assert.fail('not needed here')

interface CommandScenario {
  readonly decision?: CommandDecision
  mayWrite?(): boolean
  run?(name: string, args: string): Promise<string>
}

/** Sends a command and returns what happened, in order. */
async function runCommand(t: TestContext, text: string, scene: CommandScenario): Promise<string[]> {
  const seen: string[] = []
  const { inbox, store } = inboxFor(t)
  const bench = openOutbox(t)
  const command = (name: string): CommandDefinition => ({
    name,
    aliases: [],
    description: '',
    argsHint: '',
    queue: 'control',
    async run({ args }) {
      seen.push(`ran ${name} ${args}`.trim())
      return (await scene.run?.(name, args)) ?? `did ${name}`
    },
  })
  const commands = ['one', 'two'].map(command)
  const tell = (how: string) => (name: string) => void seen.push(`${how} ${name}`)
  const accountDirectory = {
    authorityOf: () => ownerAuthority,
    isRevoked: () => false,
    isShared: () => false,
    commandTiersOf: () => undefined,
    access: () => ({ allowed: scene.mayWrite?.() ?? true, reason: '' }),
    emitsEvents: () => true,
  }
  const gateway = {
    ...{ store, clock: () => 0, log: silentLog, failpoint: () => undefined },
    ...{ accountDirectory, stopping: new AbortController().signal },
  }
  const lane = createCommandDispatcher(gateway, {
    outbox: {
      ...bench.outbox,
      prepare(reply) {
        seen.push(`says ${reply.text}`)
        return { ...bench.outbox.prepare(reply), committed: () => void seen.push('on its way') }
      },
    },
    turnResults: createEventResults(store),
    commands: { resolve: (name) => commands.find((one) => one.name === name) },
    events: { emit: tell('told all:'), emitsMessageEvents: () => true, notifyListeners: tell('told within:') },
    commandDecisions: { decide: async () => scene.decision },
    pluginRegistries: { gatewayHooks: { commandReceived: () => undefined } },
    runningTurns: { isRunning: () => false },
    approvals: { questions: { answerPlain: failIfCalled }, confirmCommand: async () => undefined },
  })
  await inbox.accept(message(text), keys('m1'))
  await lane(brand<SessionKey>('key:c'), new AbortController().signal)
  return seen
}

test('a command without a deciding hook emits its event after its effect is stored and before its answer is sent', async (t) => {
  assert.deepEqual(await runCommand(t, '/one two', {}), [
    'ran one two',
    'says did one',
    'told all: command:one',
    'on its way',
  ])
})

test('a command that fails emits its event, too', async (t) => {
  const run = async () => Promise.reject(new Error('broken'))
  assert.deepEqual(await runCommand(t, '/one', { run }), [
    'ran one',
    'says `/one` failed: broken',
    'told all: command:one',
    'on its way',
  ])
})

test('hooks that decided about a command do not receive its event again', async (t) => {
  assert.deepEqual(await runCommand(t, '/one', { decision: { kind: 'allow' } }), [
    'told within: command:one',
    'ran one',
    'says did one',
    'on its way',
  ])
  const run = async () => Promise.reject(new Error('broken'))
  const failing = await runCommand(t, '/one', { decision: { kind: 'allow' }, run })
  assert.deepEqual(failing, ['told within: command:one', 'ran one', 'says `/one` failed: broken', 'on its way'])
})

test('a command that a hook rewrote is checked for access again, in its new form', async (t) => {
  let asked = 0
  const mayWrite = () => {
    asked += 1
    return false
  }
  const decision = { kind: 'rewrite', command: 'two', args: 'x' } as const
  const seen = await runCommand(t, '/one', { decision, mayWrite })
  assert.equal(asked, 1)
  assert.deepEqual(seen, ['told within: command:one', 'says You may not use `/two`.', 'on its way'])
  const allowed = await runCommand(t, '/one y', { decision: { ...decision, args: undefined } })
  assert.deepEqual(allowed, ['told within: command:one', 'ran two y', 'says did two', 'on its way'])
})

const key = brand<SessionKey>('key:c')

/** Whether what the command of this number waits for was aborted at once. */
async function isAborted({ untilSuperseded }: CommandDecisions, session: SessionKey, seq: number): Promise<boolean> {
  return await untilSuperseded({ key: session, seq }, async ({ aborted }) => aborted)
}

test('a command that bypasses hooks ends those before it, whether they have begun, and none after it', async () => {
  const decisions = createCommandDecisions(
    { hasListeners: () => false, emitCollect: async () => [] },
    { bypassesHooks: ({ text }) => text === '/stop' },
    { isRunning: () => false },
    () => 1_000,
  )
  const running = decisions.untilSuperseded({ key, seq: 1 }, (signal) => once(signal, 'abort'))
  decisions.onEnqueued(key, message('/other'), 3)
  assert.equal(await isAborted(decisions, key, 2), false)
  decisions.onEnqueued(key, message('/stop'), 4)
  await running
  assert.equal(await isAborted(decisions, key, 3), true)
  assert.equal(await isAborted(decisions, brand<SessionKey>('key:other'), 3), false)
  assert.equal(await isAborted(decisions, key, 5), false)
})
