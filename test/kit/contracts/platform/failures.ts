/**
 * Promises about failures of the platform: each one has the right kind, the adapter does not retry, and no secret appears.
 */
import assert from 'node:assert/strict'
import type { SendFailureKind, SendResult } from '../../../../src/message/outbound.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement } from '../platform-requirement.ts'

export const failureRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'sending to an unreachable platform fails with `temporary`',
    needs: ['makeUnreachable'],
    async check({ adapter, target, makeUnreachable }) {
      makeUnreachable()
      assertFailure('temporary', await adapter.send(messageTo(target, 'are you there?'), neverAborted))
    },
  }),

  requirement({
    name: 'a rate limit is reported with its wait time, and the adapter does not retry',
    needs: ['rateLimit', 'sentCalls'],
    async check({ adapter, target, rateLimit, sentCalls }) {
      rateLimit(2_000)
      const before = sentCalls()
      const result = assertFailure('rate-limited', await adapter.send(messageTo(target, 'now!'), neverAborted))
      const { retryAfterMs = 0 } = result
      assert.ok(retryAfterMs >= 2_000 && retryAfterMs <= 3_000, `wait time: ${retryAfterMs} ms`)
      assert.notEqual(result.maybeSent, true)
      assert.equal(sentCalls() - before, 1)
    },
  }),

  requirement({
    name: 'a revoked token fails with `unauthorised`, which stops the account',
    needs: ['refuseToken'],
    async check({ adapter, target, refuseToken }) {
      refuseToken()
      assertFailure('unauthorised', await adapter.send(messageTo(target, 'let me in'), neverAborted))
    },
  }),

  requirement({
    name: 'sending to a chat that does not exist fails with `rejected`, so that the message is not retried',
    needs: ['loseChat'],
    async check({ adapter, target, loseChat }) {
      loseChat()
      assertFailure('rejected', await adapter.send(messageTo(target, 'are you there?'), neverAborted))
    },
  }),

  requirement({
    name: 'a lost response to a send sets `maybeSent`, and the adapter does not send again',
    needs: ['dropResponse'],
    async check({ adapter, target, seen, dropResponse, sentCalls }) {
      dropResponse()
      const before = sentCalls?.() ?? 0
      const arrived = seen('Did you get it?')
      const result = assertFailure('temporary', await adapter.send(messageTo(target, 'Did you get it?'), neverAborted))
      assert.equal(result.maybeSent, true)
      await arrived
      if (sentCalls !== undefined) assert.equal(sentCalls() - before, 1)
    },
  }),

  requirement({
    name: '`resolveUnknown` finds a message whose response was lost',
    needs: ['dropResponse'],
    adapterNeeds: ['resolveUnknown'],
    async check({ adapter, target, dropResponse }) {
      dropResponse()
      const message = messageTo(target, 'Did you get it?')
      assertFailure('temporary', await adapter.send(message, neverAborted))
      const resolved = await adapter.resolveUnknown(message, neverAborted)
      assert.ok(resolved === 'unknown' || resolved.sent, JSON.stringify(resolved))
    },
  }),

  requirement({
    name: '`resolveUnknown` tells sent messages from unsent ones',
    adapterNeeds: ['resolveUnknown'],
    async check({ adapter, target }) {
      const arrived = messageTo(target, 'I arrived', 'delivery-1')
      assert.equal((await adapter.send(arrived, neverAborted)).success, true)
      const resolved = await adapter.resolveUnknown(arrived, neverAborted)
      assert.ok(resolved === 'unknown' || resolved.sent)
      const missing = await adapter.resolveUnknown(messageTo(target, 'I did not', 'delivery-2'), neverAborted)
      assert.ok(missing === 'unknown' || !missing.sent)
    },
  }),

  requirement({
    name: 'no secret appears in the log, in an error or in a health report',
    needs: ['secrets'],
    startsDisconnected: true,
    async check({
      adapter,
      gateway,
      target,
      say,
      secrets,
      createAnother,
      rateLimit,
      refuseToken,
      dropResponse,
      makeUnreachable,
    }) {
      const shown: unknown[] = []
      const send = async () => shown.push(await adapter.send(messageTo(target, 'hello'), neverAborted))
      await adapter.connect(neverAborted)
      await say('hello', 'one')
      for (const injectFault of [
        () => undefined,
        () => rateLimit?.(1_000),
        dropResponse,
        refuseToken,
        makeUnreachable,
      ]) {
        injectFault?.()
        await send()
      }
      if (makeUnreachable !== undefined)
        await createAnother?.()
          .connect(neverAborted)
          .catch((error) => shown.push(String(error.stack)))
      await adapter.disconnect()
      await send()
      const text = JSON.stringify([shown, gateway.logLines, gateway.healthReports])
      for (const secret of secrets)
        assert.ok(!text.includes(secret), `a secret appears in: ${excerptAround(text, secret)}`)
    },
  }),
]

type SendFailure = Extract<SendResult, { success: false }>

function assertFailure(kind: SendFailureKind, result: SendResult): SendFailure {
  assert.ok(!result.success, 'the send succeeded')
  assert.equal(result.problem, kind, result.error)
  assert.notEqual(result.error, '')
  return result
}

function excerptAround(text: string, secret: string): string {
  const at = text.indexOf(secret)
  return text.slice(Math.max(0, at - 200), at + secret.length + 100)
}
