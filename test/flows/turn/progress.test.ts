import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Turn } from '../../../src/flows/turn/journal.ts'
import { startTurnProgress } from '../../../src/flows/turn/progress.ts'
import { brand } from '../../../src/lib/brand.ts'
import type { SessionId, SessionKey, TurnId } from '../../../src/message/ids.ts'
import type { TurnActivity } from '../../../src/platforms/adapter.ts'
import { openOutbox } from '../../outbox/support.ts'

function turnFor(messageId?: string): Turn {
  const sessionKey = brand<SessionKey>('agent:main:fake:dm:chat')
  const source = { platform: 'fake', account: 'default', chatId: 'chat', chatType: 'dm' as const, userId: 'ada' }
  const said = { source, text: 'hello', messageType: 'text' as const, timestamp: 0 }
  return {
    id: brand<TurnId>('turn'),
    seq: 1,
    sessionKey,
    sessionId: brand<SessionId>('session'),
    fence: { sessionKey, epoch: 1 },
    event: messageId === undefined ? said : { ...said, messageId },
    firstOfSession: false,
    resumed: false,
    systemPrompt: '',
    transcript: [],
  }
}

function activitiesOf(t: TestContext, turn: Turn): TurnActivity[] {
  const seen: TurnActivity[] = []
  const { outbox } = openOutbox(t)
  const deps = { outbox, emit: () => undefined, emitsEvents: () => true }
  const view = startTurnProgress(
    { ...deps, publishActivity: (_, activity) => seen.push(activity) },
    turn,
    new AbortController().signal,
  )
  view.publishEnd('done')
  view.close()
  return seen
}

test('a platform hears which message a turn answers, when it begins and when it ends', (t) => {
  assert.deepEqual(activitiesOf(t, turnFor('m1')), [
    { kind: 'turn-started', turnId: 'turn', messageId: 'm1' },
    { kind: 'turn-ended', turnId: 'turn', status: 'done', messageId: 'm1' },
  ])
})

test('a turn that answers no message of the platform names none', (t) => {
  assert.deepEqual(activitiesOf(t, turnFor()), [
    { kind: 'turn-started', turnId: 'turn' },
    { kind: 'turn-ended', turnId: 'turn', status: 'done' },
  ])
})
