/**
 * Promises about what people write: where it came from, who wrote it, under which name, and when the platform hears "got it".
 */
import assert from 'node:assert/strict'
import { HermesError } from '../../../../src/lib/errors.ts'
import { targetOf } from '../../../../src/message/source.ts'
import type { IngestedEvent, RecordingContext } from '../../recording-context.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement, settleIo } from '../platform-requirement.ts'
import type { PlatformUnderTest, TestConversation } from '../platform-under-test.ts'

export const inboundRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'a message tells where it came from and who wrote it, word for word',
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
    name: 'an answer finds the way back to the chat it came from',
    check: (platform) => checkRoundTrip(platform, platform),
  }),

  requirement({
    name: 'an answer finds the way back to the thread it came from',
    needs: ['thread'],
    async check(platform) {
      await checkRoundTrip(platform, platform.thread)
      assert.notDeepEqual(platform.thread.target, platform.target)
    },
  }),

  requirement({
    name: 'an event delivered twice keeps its name, two events have two',
    async check({ gateway, say }) {
      await say('first', 'one')
      await say('second', 'two')
      await say('first', 'one')
      const [one, two, again] = gateway.ingestedEvents.map(({ keys }) => keys[0])
      assert.ok(one)
      assert.notEqual(one, two)
      assert.equal(again, one)
    },
  }),

  requirement({
    name: 'two people in one chat are two people',
    needs: ['sayAsStranger'],
    async check({ gateway, target, say, sayAsStranger: stranger }) {
      await say('it is me', 'one')
      await stranger('and me', 'two')
      const [me, other] = gateway.ingestedEvents.map(({ event }) => event.source)
      assert.ok(me && other?.userId)
      assert.notEqual(other.userId, me.userId)
      assert.equal(other.chatId, target.chatId)
    },
  }),

  requirement({
    name: 'nothing is acknowledged before it is on disk',
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
    name: 'what could not be stored is not acknowledged, or is delivered again',
    async check({ gateway, say }) {
      gateway.failNextAccept(new HermesError('store/full'))
      const acknowledged = await say('keep me', 'one')
      assert.equal(gateway.ingestedEvents.length, acknowledged ? 1 : 0)
    },
  }),

  requirement({
    name: 'what will never fit is acknowledged, and the person is told',
    needs: ['noticeSeen'],
    async check({ gateway, say, noticeSeen: told }) {
      gateway.failNextAccept(new HermesError('inbox/too-large', 'It has 2 bytes, 1 is allowed.'))
      const explained = told(/larger|large|long|big/i)
      assert.equal(await say('too much', 'one'), true)
      await explained
      await say('small', 'two')
      assert.deepEqual(acceptedTexts(gateway), ['small'])
      assert.equal(gateway.attempts(), 2, 'it was delivered again')
    },
  }),

  requirement({
    name: 'somebody who may not talk to the agent is acknowledged and hears nothing',
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
    name: 'the bot does not hear itself',
    needs: ['sayAsSelf'],
    async check({ gateway, say, sayAsSelf }) {
      await sayAsSelf('my own words')
      await say('hello', 'one')
      assert.deepEqual(acceptedTexts(gateway), ['hello'])
      assert.deepEqual(gateway.changes, [])
    },
  }),
]

/** The one message that was handed in. */
export function singleEvent({ ingestedEvents: handedIn }: RecordingContext): IngestedEvent {
  const [first] = handedIn
  assert.ok(first, 'nothing was handed in')
  assert.equal(handedIn.length, 1)
  return first
}

export function acceptedTexts({ ingestedEvents: handedIn }: RecordingContext): string[] {
  return handedIn.map(({ event }) => event.text)
}

async function checkRoundTrip(
  { adapter, gateway }: PlatformUnderTest,
  { target, say, seen }: TestConversation,
): Promise<void> {
  await say('where am I?', 'one')
  const answered = targetOf(singleEvent(gateway).event.source)
  assert.deepEqual(answered, target)
  const arrived = seen('You are here.')
  assert.equal((await adapter.send(messageTo(answered, 'You are here.'), neverAborted)).success, true)
  await arrived
}
