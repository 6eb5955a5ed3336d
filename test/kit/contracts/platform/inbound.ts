/**
 * Promises about inbound messages: their source, author and key, and when the adapter acknowledges them.
 */
import assert from 'node:assert/strict'
import { HermesError } from '../../../../src/lib/errors.ts'
import { targetOf } from '../../../../src/message/source.ts'
import type { IngestedEvent, RecordingContext } from '../../recording-context.ts'
import { toJsonValue } from '../../to-json-value.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement, settleIo } from '../platform-requirement.ts'
import type { PlatformUnderTest, TestConversation } from '../platform-under-test.ts'

export const inboundRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'a message event has the source, the author and the exact text',
    async check({ gateway, target, say }) {
      assert.equal(await say('Hello  there\nü 👋', 'one'), true)
      const { source, text, messageType, timestamp } = singleEvent(gateway).event
      assert.equal(text, 'Hello  there\nü 👋')
      assert.equal(messageType, 'text')
      assert.ok(timestamp > 0)
      assert.deepEqual([source.platform, source.account], [target.platform, target.account])
      assert.equal(source.chatId, target.chatId)
      assert.ok(source.userId)
    },
  }),

  requirement({
    name: 'a reply reaches the chat of its message',
    check: (platform) => checkRoundTrip(platform, platform),
  }),

  requirement({
    name: 'a reply reaches the thread of its message',
    needs: ['thread'],
    async check(platform) {
      await checkRoundTrip(platform, platform.thread)
      assert.notDeepEqual(platform.thread.target, platform.target)
    },
  }),

  requirement({
    name: 'an event that is delivered twice keeps its key, and two events have two keys',
    async check({ gateway, say }) {
      await say('first', 'one')
      await say('second', 'two')
      await say('first', 'one')
      const [one, two] = distinctEvents(gateway).map(({ keys }) => keys[0])
      assert.ok(one)
      assert.ok(two, 'the second event has the key of the first one')
      assert.ok(gateway.ingestedEvents.length > 2)
      assert.equal(gateway.ingestedEvents.at(-1)?.keys[0], one)
    },
  }),

  requirement({
    name: 'two users of a chat have different user ids',
    needs: ['sayAsStranger'],
    async check({ gateway, target, say, sayAsStranger }) {
      await say('it is me', 'one')
      await sayAsStranger('and me', 'two')
      const [me, other] = distinctEvents(gateway).map(({ event }) => event.source)
      assert.ok(me && other?.userId)
      assert.notEqual(other.userId, me.userId)
      assert.equal(other.chatId, target.chatId)
    },
  }),

  requirement({
    name: 'an event is acknowledged only after it was stored',
    async check({ gateway, say }) {
      const release = gateway.holdAccepts()
      const arrived = gateway.nextAttempt()
      let acknowledged = false
      const saying = say('keep me', 'one').then(() => {
        acknowledged = true
      })
      await arrived
      await settleIo()
      assert.equal(acknowledged, false)
      release()
      await saying
    },
  }),

  requirement({
    name: 'an event that could not be stored is not acknowledged, or is delivered again',
    async check({ gateway, say }) {
      gateway.failNextAccept(new HermesError('store/full'))
      const acknowledged = await say('keep me', 'one')
      assert.equal(distinctEvents(gateway).length, acknowledged ? 1 : 0)
    },
  }),

  requirement({
    name: 'a message that is too large is acknowledged, and the user is notified',
    needs: ['noticeSeen'],
    async check({ gateway, say, noticeSeen }) {
      gateway.failNextAccept(new HermesError('inbox/too-large', 'It has 2 bytes, 1 is allowed.'))
      const notified = noticeSeen(/larger|large|long|big/i)
      assert.equal(await say('too much', 'one'), true)
      await notified
      await say('small', 'two')
      assert.deepEqual(acceptedTexts(gateway), ['small'])
      assert.equal(gateway.attempts(), 2, 'the event was delivered again')
    },
  }),

  requirement({
    name: 'a message of an unauthorised user is acknowledged without a reply',
    needs: ['sentCalls'],
    async check({ gateway, say, sentCalls }) {
      gateway.refuse('not on the list')
      const before = sentCalls()
      assert.equal(await say('let me in', 'one'), true)
      await settleIo()
      assert.equal(sentCalls(), before)
    },
  }),

  requirement({
    name: 'messages of the bot itself are ignored',
    needs: ['sayAsSelf'],
    async check({ gateway, say, sayAsSelf }) {
      await sayAsSelf('a message of the bot')
      await say('hello', 'one')
      assert.deepEqual(acceptedTexts(gateway), ['hello'])
      assert.deepEqual(gateway.changes, [])
    },
  }),
]

/**
 * The events without repetitions. A platform delivers an event again when the acknowledgement takes long, as on a busy
 * machine; the gateway recognises its key.
 */
export function distinctEvents({ ingestedEvents }: RecordingContext): IngestedEvent[] {
  return ingestedEvents.filter(({ accepted }) => accepted.status !== 'duplicate')
}

/** The only event that was ingested. */
export function singleEvent(gateway: RecordingContext): IngestedEvent {
  const [first, ...others] = distinctEvents(gateway)
  assert.ok(first, 'no event was ingested')
  assert.equal(others.length, 0)
  return first
}

export function acceptedTexts(gateway: RecordingContext): string[] {
  return distinctEvents(gateway).map(({ event }) => event.text)
}

async function checkRoundTrip(
  { adapter, gateway }: PlatformUnderTest,
  { target, say, seen }: TestConversation,
): Promise<void> {
  await say('where am I?', 'one')
  const replyTarget = targetOf(singleEvent(gateway).event.source)
  assert.deepEqual(toJsonValue(replyTarget), toJsonValue(target))
  const arrived = seen('You are here.')
  assert.equal((await adapter.send(messageTo(replyTarget, 'You are here.'), neverAborted)).success, true)
  await arrived
}
