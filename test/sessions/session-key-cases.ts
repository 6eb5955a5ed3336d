/**
 * Which messages share a session, and so a history.
 */
import type { SessionSource } from '../../src/message/source.ts'
import type { SessionKeyRules } from '../../src/sessions/session-key.ts'

export const plain: SessionKeyRules = { groupSessionsPerUser: true, threadSessionsPerUser: false, scoped: false }
const scoped = { ...plain, scoped: true }
const sharedGroups = { ...plain, groupSessionsPerUser: false }
const ownThreads = { ...plain, threadSessionsPerUser: true }

interface Row {
  readonly promise: string
  readonly source: Partial<SessionSource>
  readonly rules?: SessionKeyRules
  readonly key: string
  readonly shared?: boolean
}

/** One row for each sentence of contract §3.3. */
export const sessionKeyCases: readonly Row[] = [
  {
    promise: 'a direct chat is named by its chat',
    source: { chatId: '42', userId: '7' },
    key: 'agent:main:chat:dm:42',
  },
  { promise: 'a thread in a direct chat', source: { chatId: '42', threadId: '9' }, key: 'agent:main:chat:dm:42:9' },
  {
    promise: 'a direct chat without a chat id is named by the person, the more stable id first',
    source: { chatId: '', userId: '7', userIdAlt: 'u7' },
    key: 'agent:main:chat:dm:u7',
  },
  {
    promise: 'a direct chat without a chat id, in a thread',
    source: { chatId: '', userId: '7', threadId: '9' },
    key: 'agent:main:chat:dm:7:9',
  },
  { promise: 'a direct chat of which nothing is known', source: { chatId: '' }, key: 'agent:main:chat:dm' },
  {
    promise: 'in a group everybody has a session of their own',
    source: { chatType: 'group', chatId: 'g', userId: '7' },
    key: 'agent:main:chat:group:g:7',
  },
  {
    promise: 'in a channel as well',
    source: { chatType: 'channel', chatId: 'c', userId: '7' },
    key: 'agent:main:chat:channel:c:7',
  },
  {
    promise: 'a group whose people want to share',
    source: { chatType: 'group', chatId: 'g', userId: '7' },
    rules: sharedGroups,
    key: 'agent:main:chat:group:g',
    shared: true,
  },
  {
    promise: 'the more stable id of a person wins in groups, too',
    source: { chatType: 'group', chatId: 'g', userId: '7', userIdAlt: 'u7' },
    key: 'agent:main:chat:group:g:u7',
  },
  {
    promise: 'without a user id the group shares one session',
    source: { chatType: 'group', chatId: 'g' },
    key: 'agent:main:chat:group:g',
    shared: true,
  },
  {
    promise: 'a thread is shared by all who write in it',
    source: { chatType: 'group', chatId: 'g', threadId: '9', userId: '7' },
    key: 'agent:main:chat:group:g:9',
    shared: true,
  },
  {
    promise: 'a thread in which everybody is on their own',
    source: { chatType: 'thread', chatId: 'g', threadId: '9', userId: '7' },
    rules: ownThreads,
    key: 'agent:main:chat:thread:g:9:7',
  },
  {
    promise: 'separate threads need separate groups',
    source: { chatType: 'thread', chatId: 'g', threadId: '9', userId: '7' },
    rules: { ...ownThreads, groupSessionsPerUser: false },
    key: 'agent:main:chat:thread:g:9',
    shared: true,
  },
  {
    promise: 'a forum topic',
    source: { chatType: 'forum', chatId: 'f', threadId: '9', userId: '7' },
    key: 'agent:main:chat:forum:f:9',
    shared: true,
  },
  {
    promise: 'a message for which a thread will be opened belongs to that thread already',
    source: { chatType: 'channel', chatId: 'c', prospectiveThreadId: 'm1', userId: '7' },
    key: 'agent:main:chat:thread:c:m1',
    shared: true,
  },
  {
    promise: 'a workspace is part of the key where the platform says so',
    source: { chatType: 'channel', chatId: 'c', scopeId: 'T1', userId: '7' },
    rules: scoped,
    key: 'agent:main:chat:channel:T1:c:7',
  },
  {
    promise: 'a workspace is no part of the key elsewhere',
    source: { chatType: 'channel', chatId: 'c', scopeId: 'T1', userId: '7' },
    key: 'agent:main:chat:channel:c:7',
  },
  { promise: 'the default profile', source: { chatId: '42', profile: 'default' }, key: 'agent:main:chat:dm:42' },
  { promise: 'no profile', source: { chatId: '42', profile: '' }, key: 'agent:main:chat:dm:42' },
  { promise: 'another profile', source: { chatId: '42', profile: 'work' }, key: 'agent:work:chat:dm:42' },
  {
    promise: 'a profile that is really called main',
    source: { chatId: '42', profile: 'main' },
    key: 'agent:main~:chat:dm:42',
  },
  {
    promise: 'empty ids count as none: no thread, no second id of the person, no workspace',
    source: { chatType: 'group', chatId: 'g', threadId: '', userIdAlt: '', userId: '7', scopeId: '' },
    rules: scoped,
    key: 'agent:main:chat:group:g:7',
  },
  {
    promise: 'an empty prospective thread is none',
    source: { chatType: 'channel', chatId: 'c', prospectiveThreadId: '', threadId: '9', userId: '7' },
    key: 'agent:main:chat:channel:c:9',
    shared: true,
  },
]
