import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { displayConfig } from '../../../src/flows/turn/config.ts'
import { startTurnProgress, type TurnProgressDeps } from '../../../src/flows/turn/output.ts'
import { interruptedResult } from '../../../src/flows/turn/without-answer.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { sleep } from '../../../src/lib/timers.ts'
import type { Target } from '../../../src/message/source.ts'
import { noUsage } from '../../../src/message/transcript.ts'
import type { TurnActivity } from '../../../src/platforms/adapter.ts'
import type { Turn } from '../../../src/sessions/turn.ts'
import { toJsonValue } from '../../kit/to-json-value.ts'
import { flushEventLoop, type OutboxFixture, openOutbox } from '../../outbox/support.ts'
import { sampleTurn } from './sample-turn.ts'

function settingsOf(display: object, gateway_notify_interval: number): ReturnType<TurnProgressDeps['settings']> {
  return {
    ...z.object(displayConfig).parse({ display }),
    agent: { gateway_notify_interval },
    context_length: 1_000,
  }
}

function depsFor(
  outbox: OutboxFixture['outbox'],
  seen: TurnActivity[],
  changes: Partial<TurnProgressDeps> = {},
): TurnProgressDeps {
  return {
    outbox,
    events: { emit: () => undefined, emitsEvents: () => true, activity: () => undefined },
    loadStatus: () => import('../../../src/flows/turn/turn-status.ts'),
    outages: {
      watch: () => ({ begin: () => ({ failed: () => undefined, recovered: () => undefined }), close: () => undefined }),
    },
    settings: () => settingsOf({}, 0),
    isWaitingForUser: () => false,
    redact: (text: string) => text,
    sleep,
    clock: () => 0,
    usageOf: async () => noUsage,
    adapter: () => ({ activity: (_: Target, activity: TurnActivity) => void seen.push(activity) }),
    log: silentLog,
    ...changes,
  }
}

function activitiesOf(t: TestContext, turn: Turn): TurnActivity[] {
  const seen: TurnActivity[] = []
  const progress = startTurnProgress(depsFor(openOutbox(t).outbox, seen), turn, new AbortController().signal)
  progress.publishEnd('done')
  progress.close()
  return seen
}

test('the platform is notified of the start and the end of a turn, with the message that the turn answers', (t) => {
  assert.deepEqual(activitiesOf(t, sampleTurn('m1')), [
    { kind: 'turn-started', turnId: 'turn', messageId: 'm1' },
    { kind: 'turn-ended', turnId: 'turn', status: 'done', messageId: 'm1' },
  ])
})

test('the notifications of a turn without a platform message name none', (t) => {
  assert.deepEqual(toJsonValue(activitiesOf(t, sampleTurn())), [
    { kind: 'turn-started', turnId: 'turn' },
    { kind: 'turn-ended', turnId: 'turn', status: 'done' },
  ])
})

test('a platform that shows the tools gets one line without secrets, wherever a secret stands', (t) => {
  const seen: TurnActivity[] = []
  const secret = 'hunter2-and-much-more'
  const redact = (text: string) => text.replaceAll(secret, '***')
  for (let start = 0; start <= 200; start += 1) {
    const progress = startTurnProgress(
      depsFor(openOutbox(t).outbox, seen, { redact }),
      sampleTurn('m1'),
      new AbortController().signal,
    )
    const call = { id: 'c1', name: 'terminal', arguments: '{}' }
    const text = `${'x'.repeat(start)}${secret}\n${'y'.repeat(300)}`
    progress.listener.onToolStart(call, text)
    progress.listener.onToolEnd(call, true, text)
    progress.close()
  }
  const shown = seen.flatMap((one) =>
    one.kind === 'tool-started' ? [one.label] : one.kind === 'tool-ended' ? [one.summary] : [],
  )
  assert.equal(shown.length, 402)
  for (const text of shown) assert.match(text, /^x*\*{0,3} ?y*…$/)
})

test('a turn that takes long says what it does, but not while it waits for a person', async (t) => {
  const { outbox, sender, time } = openOutbox(t, { remove: true })
  let isWaitingForUser = true
  const deps = depsFor(outbox, [], {
    isWaitingForUser: () => isWaitingForUser,
    redact: (text) => text.replaceAll('hunter2', '***'),
    sleep: time.sleep,
    settings: () => settingsOf({ tool_progress: 'off' }, 180),
  })
  const progress = startTurnProgress(deps, sampleTurn('m1'), new AbortController().signal)
  const advance = async (ms: number) => {
    await flushEventLoop()
    time.advance(ms)
    // The module of the messages is loaded at the first one.
    await import('../../../src/flows/turn/turn-status.ts')
    await import('../../../src/outbox/status-message.ts')
    await flushEventLoop()
  }
  await advance(180_000)
  assert.deepEqual(sender.texts(), [])
  isWaitingForUser = false
  progress.listener.onToolStart({ id: 'c1', name: 'terminal', arguments: '{}' }, 'npm test\nhunter2')
  await advance(180_000)
  assert.deepEqual(sender.texts(), ['⏳ Still working (6 min): **terminal** `npm test ***`'])
  progress.close()
  await advance(1_000)
  assert.equal(sender.shown.size, 0)
  assert.deepEqual(time.pendingSleeps(), [])
})

test('what a native draft has shown of an interrupted turn is sent, and nothing that no one saw', async (t) => {
  for (const shows of [true, false]) {
    const { outbox, sender, store } = openOutbox(t, { nativeDrafts: true })
    const turn = sampleTurn('m1')
    const progress = startTurnProgress(depsFor(outbox, []), turn, new AbortController().signal)
    if (shows) progress.listener.onText('One, two', false)
    await flushEventLoop()
    const ended = { ord: 0, usage: noUsage, model: '', provider: '', iterations: 0, announced: true }
    const reply = await progress.prepareReply({ ...ended, ...interruptedResult(turn, 'One, two', 2) })
    await store.commit(reply, () => 1)
    await outbox.whenIdle()
    progress.close()
    assert.deepEqual(sender.texts(), shows ? ['One, two\n\n*(interrupted)*'] : [])
  }
})
