/**
 * Promises about the life of a connection: it begins, is cut, comes back, ends, and another one begins.
 */
import assert from 'node:assert/strict'
import { HermesError } from '../../../../src/lib/errors.ts'
import { idle, messageTo, never, type PlatformPromise, promise } from '../platform-promise.ts'

export const lifePromises: readonly PlatformPromise[] = [
  promise({
    name: 'disconnecting is harmless before the first connect, and twice',
    fresh: true,
    async check({ adapter }) {
      await adapter.disconnect()
      await adapter.disconnect()
    },
  }),

  promise({
    name: 'a connection can be ended twice',
    async check({ adapter }) {
      await adapter.disconnect()
      await adapter.disconnect()
    },
  }),

  promise({
    name: 'disconnecting ends a connect that is still under way',
    fresh: true,
    async check({ adapter, gateway, say }) {
      const giveUp = new AbortController()
      const connecting = adapter.connect(giveUp.signal).catch((error) => assert.ok(error instanceof Error))
      giveUp.abort()
      await adapter.disconnect()
      await connecting
      gateway.dropRoutes()
      unheard(say('nobody is there', 'one'))
      await idle()
      assert.equal(gateway.attempts(), 0, 'it went on receiving')
    },
  }),

  promise({
    name: 'after the disconnect nothing is handed in',
    async check({ adapter, gateway, say }) {
      await say('before', 'one')
      await adapter.disconnect()
      gateway.dropRoutes()
      const attempts = gateway.attempts()
      unheard(say('too late', 'two'))
      await idle()
      assert.equal(gateway.attempts(), attempts)
    },
  }),

  promise({
    name: 'the next life hears what is new, and knows again what it hears twice',
    needs: ['again'],
    async check({ adapter, gateway, say, again }) {
      await say('first', 'one')
      await adapter.disconnect()
      gateway.dropRoutes()
      const next = again()
      try {
        await next.connect(never)
        await say('second', 'two')
        await say('first', 'one')
        assert.deepEqual(acceptedTexts(gateway), ['first', 'second'])
      } finally {
        await next.disconnect()
      }
    },
  }),

  promise({
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
      assert.equal((await adapter.send(messageTo(target, 'I am back.'), never)).success, true)
      await arrived
    },
  }),

  promise({
    name: 'it tells that something came in, where a connection can be lost',
    needs: ['interrupt'],
    async check({ gateway, say }) {
      await say('hello', 'one')
      assert.ok(gateway.received() > 0, 'received() was not called')
    },
  }),

  promise({
    name: 'a platform that cannot be reached fails the connect, and says why',
    needs: ['breakDown', 'interrupt'],
    fresh: true,
    async check({ adapter, breakDown }) {
      breakDown()
      await assert.rejects(adapter.connect(never), (error) => error instanceof Error && error.message !== '')
    },
  }),

  promise({
    name: 'a wrong token is told as such when it connects',
    needs: ['refuseToken', 'interrupt'],
    fresh: true,
    async check({ adapter, refuseToken }) {
      refuseToken()
      await assert.rejects(
        adapter.connect(never),
        (error) => error instanceof HermesError && error.code === 'platform/unauthorised',
      )
    },
  }),
]

/** Somebody writes and may never hear whether it arrived. */
function unheard(saying: Promise<unknown>): void {
  saying.catch(() => undefined)
}

function acceptedTexts({
  handedIn,
}: {
  handedIn: readonly { accepted: { status: string }; event: { text: string } }[]
}) {
  return handedIn.filter(({ accepted }) => accepted.status === 'accepted').map(({ event }) => event.text)
}
