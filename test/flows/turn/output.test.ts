import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import type { Turn } from '../../../src/flows/turn/claim.ts'
import { displayConfig, displaySettings } from '../../../src/flows/turn/config.ts'
import { startTurnProgress } from '../../../src/flows/turn/output.ts'
import { brand } from '../../../src/lib/ids.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { sleep } from '../../../src/lib/timers.ts'
import type { SessionId, SessionKey, TurnId } from '../../../src/message/ids.ts'
import type { Target } from '../../../src/message/source.ts'
import type { TurnActivity } from '../../../src/platforms/adapter.ts'
import { ownerAuthority } from '../../kit/authority.ts'
import { openOutbox } from '../../outbox/support.ts'

function turnFor(messageId?: string): Turn {
  const sessionKey = brand<SessionKey>('agent:main:fake:dm:chat')
  const source = { platform: 'fake', account: 'default', chatId: 'chat', chatType: 'dm' as const, userId: 'ada' }
  const message = { source, text: 'hello', messageType: 'text' as const, timestamp: 0 }
  return {
    id: brand<TurnId>('turn'),
    seq: 1,
    sessionKey,
    sessionId: brand<SessionId>('session'),
    fence: { sessionKey, epoch: 1 },
    event: messageId === undefined ? message : { ...message, messageId },
    authority: ownerAuthority,
    firstOfSession: false,
    resumed: false,
    hasFailedAttempts: false,
    outageSince: null,
    settings: {},
    systemPrompt: '',
    transcript: [],
  }
}

function activitiesOf(t: TestContext, turn: Turn): TurnActivity[] {
  const seen: TurnActivity[] = []
  const { outbox } = openOutbox(t)
  const deps = {
    outbox,
    emit: () => undefined,
    emitsEvents: () => true,
    outages: {
      watch: () => ({ begin: () => ({ failed: () => undefined, recovered: () => undefined }), close: () => undefined }),
    },
    displayOf: () => displaySettings(z.object(displayConfig).parse({}), 'fake'),
    notifyIntervalMs: () => 0,
    isWaitingForUser: () => false,
    redact: (text: string) => text,
    sleep,
    adapter: () => ({ activity: (_: Target, activity: TurnActivity) => void seen.push(activity) }),
    log: silentLog,
  }
  const progress = startTurnProgress(deps, turn, new AbortController().signal)
  progress.publishEnd('done')
  progress.close()
  return seen
}

test('the platform is notified of the start and the end of a turn, with the message that the turn answers', (t) => {
  assert.deepEqual(activitiesOf(t, turnFor('m1')), [
    { kind: 'turn-started', turnId: 'turn', messageId: 'm1' },
    { kind: 'turn-ended', turnId: 'turn', status: 'done', messageId: 'm1' },
  ])
})

test('the notifications of a turn without a platform message name none', (t) => {
  assert.deepEqual(activitiesOf(t, turnFor()), [
    { kind: 'turn-started', turnId: 'turn' },
    { kind: 'turn-ended', turnId: 'turn', status: 'done' },
  ])
})
