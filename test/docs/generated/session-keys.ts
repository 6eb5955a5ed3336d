/**
 * Generates examples of session keys with the code that computes them.
 */
import { backgroundPlatform, type SessionSource } from '../../../src/message/source.ts'
import { isSharedSession, type SessionKeyRules, sessionKeyOf } from '../../../src/sessions/session-key.ts'
import { table } from './table.ts'

interface Example {
  readonly situation: string
  readonly source: Partial<SessionSource>
  readonly rules?: Partial<SessionKeyRules>
}

const plain: SessionSource = { platform: 'telegram', account: 'default', chatId: '42', chatType: 'dm', userId: 'ada' }
const usual: SessionKeyRules = { groupSessionsPerUser: true, threadSessionsPerUser: false, scoped: false }

const examples: readonly Example[] = [
  { situation: 'A direct chat', source: {} },
  { situation: 'A thread in a direct chat', source: { threadId: '7' } },
  { situation: 'A direct chat without a chat id', source: { chatId: '' } },
  { situation: 'A group; each user has a separate session', source: { chatType: 'group' } },
  {
    situation: 'The same with `group_sessions_per_user: false`',
    source: { chatType: 'group' },
    rules: { groupSessionsPerUser: false },
  },
  { situation: 'A user with a second, more stable id', source: { chatType: 'group', userIdAlt: 'ada-1815' } },
  { situation: 'A thread in a channel; all users share one session', source: { chatType: 'channel', threadId: '7' } },
  {
    situation: 'The same with `thread_sessions_per_user: true`',
    source: { chatType: 'channel', threadId: '7' },
    rules: { threadSessionsPerUser: true },
  },
  {
    situation: 'A channel message that opens a thread',
    source: { chatType: 'channel', prospectiveThreadId: '7' },
  },
  {
    situation: 'A platform with `session_scope: scope_id`, in the workspace T1',
    source: { platform: 'slack', chatType: 'channel', scopeId: 'T1' },
    rules: { scoped: true },
  },
  { situation: 'A direct chat of the profile `work`', source: { profile: 'work' } },
  {
    situation: 'A background task',
    source: { platform: backgroundPlatform, chatId: 'bg_130324_bb646a47', userId: 'hook:boot-md' },
  },
  { situation: 'A profile with the name `main`', source: { profile: 'main' } },
]

export function sessionKeys(): string {
  const rows = examples.map(({ situation, source, rules }) => {
    const [whole, all] = [
      { ...plain, ...source },
      { ...usual, ...rules },
    ]
    return [situation, `\`${sessionKeyOf(whole, all)}\``, isSharedSession(whole, all) ? 'yes' : '']
  })
  return table(['Situation', 'Session key', 'Shared'], rows)
}
