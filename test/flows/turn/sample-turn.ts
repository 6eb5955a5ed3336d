/**
 * The plain turn of one person, for the tests of this folder.
 */
import { brand } from '../../../src/lib/ids.ts'
import type { SessionId, SessionKey, TurnId } from '../../../src/message/ids.ts'
import type { Turn } from '../../../src/sessions/turn.ts'
import { ownerAuthority } from '../../kit/authority.ts'

export function sampleTurn(messageId?: string): Turn {
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
