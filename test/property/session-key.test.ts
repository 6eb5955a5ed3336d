import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SessionSource } from '../../src/message/source.ts'
import { isSharedSession, type SessionKeyRules, sessionKeyOf } from '../../src/sessions/session-key.ts'

/** Ids of platforms: not empty, without colons, and different for threads and users. */
const id = (kind: string) => fc.stringMatching(/^[A-Za-z0-9._@+-]{1,3}$/).map((text) => `${kind}${text}`)
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined })

const parts = fc.record<Parts>({
  profile: maybe(fc.constantFrom('', 'default', 'main', 'work')),
  chatType: fc.constantFrom('dm', 'group', 'channel', 'thread', 'forum'),
  chatId: fc.oneof(id('c'), fc.constant('')),
  scopeId: maybe(id('s')),
  threadId: maybe(fc.oneof(id('t'), fc.constant(''))),
  prospectiveThreadId: maybe(id('t')),
  userId: maybe(id('u')),
  userIdAlt: maybe(fc.oneof(id('u'), fc.constant(''))),
})

interface Parts extends Pick<SessionSource, 'chatType' | 'chatId'> {
  readonly profile: string | undefined
  readonly scopeId: string | undefined
  readonly threadId: string | undefined
  readonly prospectiveThreadId: string | undefined
  readonly userId: string | undefined
  readonly userIdAlt: string | undefined
}

/** Only a message in a channel can have a prospective thread. */
function possible(of: Parts): Parts {
  return of.chatType === 'dm' ? { ...of, prospectiveThreadId: undefined } : of
}

/** Two messages that differ in a few fields. */
const neighbours = fc
  .tuple(parts, parts, fc.subarray(['profile', 'chatType', 'chatId', 'scopeId', 'threadId', 'userId', 'userIdAlt']))
  .map(([one, more, names]): [Parts, Parts] => [
    possible(one),
    possible({ ...one, ...Object.fromEntries(Object.entries(more).filter(([name]) => names.includes(name))) }),
  ])

const rules = fc.record<SessionKeyRules>({
  groupSessionsPerUser: fc.boolean(),
  threadSessionsPerUser: fc.boolean(),
  scoped: fc.boolean(),
})

function sourceOf({ chatType, chatId, ...optional }: Parts): SessionSource {
  const given = Object.entries(optional).filter(([, value]) => value !== undefined)
  return { platform: 'chat', account: 'default', chatType, chatId, ...Object.fromEntries(given) }
}

/** The fields that identify a conversation, according to contract §3.3. */
function conversation(of: Parts, { groupSessionsPerUser, threadSessionsPerUser, scoped }: SessionKeyRules) {
  const person = of.userIdAlt || of.userId || ''
  const thread = of.prospectiveThreadId || of.threadId || ''
  const alone = groupSessionsPerUser && (thread === '' || threadSessionsPerUser)
  return {
    profile: of.profile || 'default',
    slot: of.prospectiveThreadId ? 'thread' : of.chatType,
    scope: scoped ? (of.scopeId ?? '') : '',
    chat: of.chatId,
    thread,
    person: of.chatType === 'dm' ? (of.chatId === '' ? person : '') : alone ? person : '',
  }
}

test('two messages share a session exactly when they belong to the same conversation', () => {
  fc.assert(
    fc.property(neighbours, rules, ([one, other], by) => {
      const sameKey = sessionKeyOf(sourceOf(one), by) === sessionKeyOf(sourceOf(other), by)
      const left = JSON.stringify(conversation(one, by))
      const right = JSON.stringify(conversation(other, by))
      assert.equal(sameKey, left === right, `${left}\n${right}`)
    }),
    { numRuns: 500 },
  )
})

test('a change of an identifying field changes the session', () => {
  fc.assert(
    fc.property(
      parts,
      fc.constantFrom('chatId', 'threadId', 'userId', 'profile', 'scopeId'),
      rules,
      (one, name, by) => {
        const other = { ...one, [name]: name === 'profile' ? 'elsewhere' : `${name[0]}~other` }
        const same = JSON.stringify(conversation(one, by)) === JSON.stringify(conversation(other, by))
        assert.equal(sessionKeyOf(sourceOf(one), by) === sessionKeyOf(sourceOf(other), by), same)
      },
    ),
    { numRuns: 500 },
  )
})

test('every identifying field can be parsed from the key', () => {
  fc.assert(
    fc.property(parts, rules, (of, by) => {
      const [agent, namespace, platform, slot, ...rest] = sessionKeyOf(sourceOf(of), by).split(':')
      const expected = conversation(of, by)
      const profiles: Record<string, string> = { main: 'default', 'main~': 'main' }
      assert.deepEqual([agent, platform, slot], ['agent', 'chat', expected.slot])
      assert.equal(profiles[namespace ?? ''] ?? namespace, expected.profile)
      const read = (letter: string) => rest.filter((part) => part.startsWith(letter)).join()
      assert.deepEqual(
        { scope: read('s'), chat: read('c'), thread: read('t'), person: read('u') },
        { scope: expected.scope, chat: expected.chat, thread: expected.thread, person: expected.person },
      )
    }),
    { numRuns: 500 },
  )
})

test('any source has one stable key that contains only its identifying fields', () => {
  const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom(':', '', ' ', '\0', '\ud800', '__proto__'))
  const anything = fc.record({
    profile: maybe(text),
    chatType: fc.constantFrom('dm', 'group', 'channel', 'thread', 'forum'),
    chatId: text,
    scopeId: maybe(text),
    threadId: maybe(text),
    prospectiveThreadId: maybe(text),
    userId: maybe(text),
    userIdAlt: maybe(text),
  })
  fc.assert(
    fc.property(anything, rules, (of, by) => {
      const source = sourceOf(of)
      const key = sessionKeyOf(source, by)
      assert.equal(sessionKeyOf(structuredClone(source), by), key)
      assert.ok(key.startsWith('agent:') && key.length <= 100)
      assert.equal(sessionKeyOf({ ...source, userName: 'x', chatName: 'y', chatTopic: 'z', messageId: 'm' }, by), key)
    }),
    { numRuns: 300 },
  )
})

test('a session is shared exactly if another user would get the same key', () => {
  fc.assert(
    fc.property(parts, rules, (of, by) => {
      const { userIdAlt: _, ...known } = of
      const mine = sourceOf({ ...known, userIdAlt: undefined, userId: 'u-me' })
      const yours = sourceOf({ ...known, userIdAlt: undefined, userId: 'u-you' })
      const sameKey = sessionKeyOf(mine, by) === sessionKeyOf(yours, by)
      assert.equal(isSharedSession(mine, by), of.chatType !== 'dm' && sameKey)
    }),
    { numRuns: 300 },
  )
})
