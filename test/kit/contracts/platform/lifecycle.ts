/**
 * Promises about the life of a connection: it begins, is cut, comes back, ends, and another one begins.
 */
import assert from 'node:assert/strict'
import { HermesError } from '../../../../src/lib/errors.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement, settleIo } from '../platform-requirement.ts'

export const lifecycleRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'disconnecting is harmless before the first connect, and twice',
    startsDisconnected: true,
    async check({ adapter }) {
      await adapter.disconnect()
      await adapter.disconnect()
    },
  }),

  requirement({
    name: 'a connection can be ended twice',
    async check({ adapter }) {
      await adapter.disconnect()
      await adapter.disconnect()
    },
  }),

  requirement({
    name: 'disconnecting ends a connect that is still under way',
    startsDisconnected: true,
    async check({ adapter, gateway, say }) {
      const giveUp = new AbortController()
      const connecting = adapter.connect(giveUp.signal).catch((error) => assert.ok(error instanceof Error))
      giveUp.abort()
      await adapter.disconnect()
      await connecting
      gateway.dropRoutes()
      isNotAcknowledged(say('nobody is there', 'one'))
      await settleIo()
      assert.equal(gateway.attempts(), 0, 'it went on receiving')
    },
  }),

  requirement({
    name: 'after the disconnect nothing is handed in',
    async check({ adapter, gateway, say }) {
      await say('before', 'one')
      await adapter.disconnect()
      gateway.dropRoutes()
      const attempts = gateway.attempts()
      isNotAcknowledged(say('too late', 'two'))
      await settleIo()
      assert.equal(gateway.attempts(), attempts)
    },
  }),

  requirement({
    name: 'the next life hears what is new, and knows again what it hears twice',
    needs: ['createAnother'],
    async check({ adapter, gateway, say, createAnother: again }) {
      await say('first', 'one')
      await adapter.disconnect()
      gateway.dropRoutes()
      const next = again()
      try {
        await next.connect(neverAborted)
        await say('second', 'two')
        await say('first', 'one')
        assert.deepEqual(acceptedTexts(gateway), ['first', 'second'])
      } finally {
        await next.disconnect()
      }
    },
  }),

  requirement({
    name: 'what people write during an interruption is heard after it, once',
    needs: ['interrupt', 'restore'],
    async check({ adapter, gateway, target, say, seen, interrupt, restore }) {
      await say('before', 'one')
      await interrupt()
      const saying = say('meanwhile', 'two')
      await restore()
      assert.equal(await saying, true)
      await say('after', 'three')
      assert.deepEqual(acceptedTexts(gateway), ['before', 'meanwhile', 'after'])
      const arrived = seen('I am back.')
      assert.equal((await adapter.send(messageTo(target, 'I am back.'), neverAborted)).success, true)
      await arrived
    },
  }),

  requirement({
    name: 'it tells that something came in, where a connection can be lost',
    needs: ['interrupt'],
    async check({ gateway, say }) {
      await say('hello', 'one')
      assert.ok(gateway.received() > 0, 'received() was not called')
    },
  }),

  requirement({
    name: 'a platform that cannot be reached fails the connect, and says why',
    needs: ['makeUnreachable', 'interrupt'],
    startsDisconnected: true,
    async check({ adapter, makeUnreachable: breakDown }) {
      breakDown()
      await assert.rejects(adapter.connect(neverAborted), (error) => error instanceof Error && error.message !== '')
    },
  }),

  requirement({
    name: 'a wrong token is told as such when it connects',
    needs: ['refuseToken', 'interrupt'],
    startsDisconnected: true,
    async check({ adapter, refuseToken }) {
      refuseToken()
      await assert.rejects(
        adapter.connect(neverAborted),
        (error) => error instanceof HermesError && error.code === 'platform/unauthorised',
      )
    },
  }),
]

/** Somebody writes and may never hear whether it arrived. */
function isNotAcknowledged(saying: Promise<unknown>): void {
  saying.catch(() => undefined)
}

function acceptedTexts({
  ingestedEvents,
}: {
  ingestedEvents: readonly { accepted: { status: string }; event: { text: string } }[]
}) {
  return ingestedEvents.filter(({ accepted }) => accepted.status === 'accepted').map(({ event }) => event.text)
}
