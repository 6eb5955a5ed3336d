/**
 * What every platform adapter promises, run against the real adapter and whatever stands in for its vendor.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { HermesError } from '../../../src/lib/errors.ts'
import type { OutboundMessage } from '../../../src/message/outbound.ts'
import type { Target } from '../../../src/message/source.ts'
import type { PlatformUnderTest } from './platform-under-test.ts'

export type { PlatformUnderTest } from './platform-under-test.ts'

/** @param build a fresh adapter, not connected */
export function platformContract(name: string, build: () => Promise<PlatformUnderTest>): void {
  const fresh = async (t: TestContext) => {
    const platform = await build()
    t.after(() => platform.close())
    return platform
  }
  const connected = async (t: TestContext) => {
    const platform = await fresh(t)
    await platform.adapter.connect(new AbortController().signal)
    await platform.lookOn?.()
    return platform
  }
  const limit = { timeout: 10_000 }

  describe(`the promises of a platform: ${name}`, () => {
    it('disconnecting is harmless before the first connect, and twice', limit, async (t) => {
      const { adapter } = await fresh(t)
      await adapter.disconnect()
      await adapter.disconnect()
    })

    it('a connection can be ended twice', limit, async (t) => {
      const { adapter } = await connected(t)
      await adapter.disconnect()
      await adapter.disconnect()
    })

    it('disconnecting ends a connect that is still under way', limit, async (t) => {
      const { adapter } = await fresh(t)
      const giveUp = new AbortController()
      const connecting = adapter.connect(giveUp.signal).catch((error) => assert.ok(error instanceof Error))
      giveUp.abort()
      await adapter.disconnect()
      await connecting
    })

    it('a message tells where it came from and who wrote it, word for word', limit, async (t) => {
      const { gateway, target, say } = await connected(t)
      assert.equal(await say('Hello  there\nü 👋', 'one'), true)
      const [first] = gateway.handedIn
      assert.ok(first)
      const { source, text, messageType, timestamp } = first.event
      assert.equal(text, 'Hello  there\nü 👋')
      assert.equal(messageType, 'text')
      assert.ok(timestamp > 0)
      assert.deepEqual([source.platform, source.account], [target.platform, target.account])
      assert.equal(source.chatId, target.chatId)
      assert.ok(source.userId)
    })

    it('an event delivered twice keeps its name, two events have two', limit, async (t) => {
      const { gateway, say } = await connected(t)
      await say('first', 'one')
      await say('second', 'two')
      await say('first', 'one')
      const [one, two, again] = gateway.handedIn.map(({ keys }) => keys[0])
      assert.ok(one)
      assert.notEqual(one, two)
      assert.equal(again, one)
    })

    it('nothing is acknowledged before it is on disk', limit, async (t) => {
      const { gateway, say } = await connected(t)
      const release = gateway.holdAccepts()
      const arrived = gateway.nextAttempt()
      let acknowledged = false
      const saying = say('keep me', 'one').then(() => {
        acknowledged = true
      })
      await arrived
      for (let round = 0; round < 200; round += 1) await nextRound()
      assert.equal(acknowledged, false)
      release()
      await saying
    })

    it('what could not be stored is not acknowledged, or is delivered again', limit, async (t) => {
      const { gateway, say } = await connected(t)
      gateway.failNextAccept(new HermesError('store/full'))
      const acknowledged = await say('keep me', 'one')
      assert.equal(gateway.handedIn.length, acknowledged ? 1 : 0)
    })

    it('what is sent is seen', limit, async (t) => {
      const { adapter, target, seen } = await connected(t)
      const arrived = seen('The answer.')
      const result = await adapter.send(messageTo(target, 'The answer.'), new AbortController().signal)
      assert.equal(result.success, true)
      await arrived
    })

    it('a message as long as the limit arrives whole', limit, async (t) => {
      const { adapter, target, seen } = await connected(t)
      const length = adapter.limits?.maxChars ?? 4_000
      assert.ok(length > 0)
      const text = 'x'.repeat(length)
      const arrived = seen(text)
      const result = await adapter.send(messageTo(target, text), new AbortController().signal)
      assert.equal(result.success, true)
      await arrived
    })

    it('a send that is called off is answered, not thrown', limit, async (t) => {
      const { adapter, target } = await connected(t)
      const result = await adapter.send(messageTo(target, 'never mind'), AbortSignal.abort())
      assert.equal(typeof result.success, 'boolean')
    })

    it('a send after the disconnect is answered, not thrown', limit, async (t) => {
      const { adapter, target } = await connected(t)
      await adapter.disconnect()
      const result = await adapter.send(messageTo(target, 'too late'), new AbortController().signal)
      assert.equal(typeof result.success, 'boolean')
    })

    it('a platform that cannot be reached is a temporary problem', limit, async (t) => {
      const { adapter, target, breakDown } = await connected(t)
      if (breakDown === undefined) return t.skip('there is nothing to reach')
      breakDown()
      const result = await adapter.send(messageTo(target, 'anybody there?'), new AbortController().signal)
      assert.ok(!result.success)
      assert.equal(result.problem, 'temporary')
      assert.notEqual(result.error, '')
    })

    it('a growing reply ends as the final text, and an edit may be repeated', limit, async (t) => {
      const { adapter, target, seen } = await connected(t)
      if (adapter.edit === undefined) return t.skip('it cannot edit')
      const { signal } = new AbortController()
      const draft = { ...messageTo(target, 'The ans'), kind: 'draft' as const }
      const sent = await adapter.send(draft, signal)
      assert.ok(sent.success && sent.messageId !== undefined, 'a draft needs an address')
      for (const text of ['The answ', 'The answ']) {
        assert.equal((await adapter.edit(sent.messageId, { ...draft, text }, false, signal)).success, true)
      }
      const arrived = seen('The answer.')
      for (const _ of ['first', 'again']) {
        const final = await adapter.edit(sent.messageId, messageTo(target, 'The answer.'), true, signal)
        assert.equal(final.success, true)
      }
      await arrived
    })

    it('an edit of a message that is gone is answered, not thrown', limit, async (t) => {
      const { adapter, target } = await connected(t)
      if (adapter.edit === undefined) return t.skip('it cannot edit')
      const result = await adapter.edit('gone', messageTo(target, 'text'), true, new AbortController().signal)
      assert.ok(result.success || result.problem === 'rejected', JSON.stringify(result))
    })

    it('showing what the agent does never fails', limit, async (t) => {
      const { adapter, target } = await connected(t)
      await adapter.typing?.(target, new AbortController().signal)
      const tool = { turnId: 't', callId: 'c', tool: 'terminal' }
      adapter.activity?.(target, { kind: 'turn-started', turnId: 't' })
      adapter.activity?.(target, { kind: 'tool-started', ...tool, label: 'ls' })
      adapter.activity?.(target, { kind: 'tool-ended', ...tool, ok: true, summary: '3 lines' })
      adapter.activity?.(target, { kind: 'turn-ended', turnId: 't', status: 'done' })
    })

    it('a lost answer can be resolved, where the platform can tell', limit, async (t) => {
      const { adapter, target } = await connected(t)
      if (adapter.resolveUnknown === undefined) return t.skip('it cannot tell')
      const { signal } = new AbortController()
      const arrived = messageTo(target, 'I arrived', 'delivery-1')
      assert.equal((await adapter.send(arrived, signal)).success, true)
      const found = await adapter.resolveUnknown(arrived, signal)
      assert.ok(found === 'unknown' || found.sent)
      const missing = await adapter.resolveUnknown(messageTo(target, 'I did not', 'delivery-2'), signal)
      assert.ok(missing === 'unknown' || !missing.sent)
    })
  })
}

function messageTo(target: Target, text: string, deliveryId = 'delivery'): OutboundMessage {
  return { deliveryId, target, text, kind: 'reply', turnId: 'turn' }
}
