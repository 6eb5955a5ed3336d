/**
 * Promises about connecting, interruptions and disconnecting.
 */
import assert from 'node:assert/strict'
import { HermesError } from '../../../../src/lib/errors.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement, settleIo } from '../platform-requirement.ts'
import { acceptedTexts } from './inbound.ts'

export const lifecycleRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'disconnect may be called before connect, and twice',
    startsDisconnected: true,
    async check({ adapter }) {
      await adapter.disconnect()
      await adapter.disconnect()
    },
  }),

  requirement({
    name: 'disconnect may be called twice after connect',
    async check({ adapter }) {
      await adapter.disconnect()
      await adapter.disconnect()
    },
  }),

  requirement({
    name: 'disconnect cancels a pending connect',
    startsDisconnected: true,
    async check({ adapter, gateway, say }) {
      const cancel = new AbortController()
      const connecting = adapter.connect(cancel.signal).catch((error) => assert.ok(error instanceof Error))
      cancel.abort()
      await adapter.disconnect()
      await connecting
      gateway.dropRoutes()
      ignoreResult(say('after the disconnect', 'one'))
      await settleIo()
      assert.equal(gateway.attempts(), 0, 'the adapter still ingests events')
    },
  }),

  requirement({
    name: 'no event is ingested after disconnect',
    async check({ adapter, gateway, say }) {
      await say('before', 'one')
      await adapter.disconnect()
      gateway.dropRoutes()
      const attempts = gateway.attempts()
      ignoreResult(say('too late', 'two'))
      await settleIo()
      assert.equal(gateway.attempts(), attempts)
    },
  }),

  requirement({
    name: 'an adapter of the next start receives new events, and keys of repeated events stay the same',
    needs: ['createAnother'],
    async check({ adapter, gateway, say, createAnother }) {
      await say('first', 'one')
      await adapter.disconnect()
      gateway.dropRoutes()
      const next = createAnother()
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
    name: 'messages sent during an interruption are received once after it',
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
    name: 'an adapter that can lose its connection calls `received`',
    needs: ['interrupt'],
    async check({ gateway, say }) {
      await say('hello', 'one')
      assert.ok(gateway.received() > 0, 'received() was not called')
    },
  }),

  requirement({
    name: 'connect rejects with a reason when the platform is unreachable',
    needs: ['makeUnreachable', 'interrupt'],
    startsDisconnected: true,
    async check({ adapter, makeUnreachable }) {
      makeUnreachable()
      await assert.rejects(adapter.connect(neverAborted), (error) => error instanceof Error && error.message !== '')
    },
  }),

  requirement({
    name: 'connect rejects with `platform/unauthorised` for a wrong token',
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

/** The message may be acknowledged later or never. */
function ignoreResult(saying: Promise<unknown>): void {
  saying.catch(() => undefined)
}
