/**
 * Promises about what goes wrong on the platform's side: each trouble has its name, nothing is tried again behind the
 * gateway's back, and no secret shows.
 */
import assert from 'node:assert/strict'
import type { SendFailureKind, SendResult } from '../../../../src/message/outbound.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement } from '../platform-requirement.ts'

export const failureRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'a platform that cannot be reached is a temporary problem',
    needs: ['makeUnreachable'],
    async check({ adapter, target, makeUnreachable: breakDown }) {
      breakDown()
      assertFailure('temporary', await adapter.send(messageTo(target, 'anybody there?'), neverAborted))
    },
  }),

  requirement({
    name: 'too many calls is told with the wait, and not tried again behind the back of the outbox',
    needs: ['rateLimit', 'sentCalls'],
    async check({ adapter, target, rateLimit, sentCalls }) {
      rateLimit(2_000)
      const before = sentCalls()
      const result = assertFailure('rate-limited', await adapter.send(messageTo(target, 'now!'), neverAborted))
      const { retryAfterMs = 0 } = result
      assert.ok(retryAfterMs >= 2_000 && retryAfterMs <= 3_000, `told to wait ${retryAfterMs} ms`)
      assert.notEqual(result.maybeSent, true)
      assert.equal(sentCalls() - before, 1)
    },
  }),

  requirement({
    name: 'a token that is no longer right stops the account',
    needs: ['refuseToken'],
    async check({ adapter, target, refuseToken }) {
      refuseToken()
      assertFailure('unauthorised', await adapter.send(messageTo(target, 'let me in'), neverAborted))
    },
  }),

  requirement({
    name: 'a chat that is gone rejects the message, and nobody tries it again',
    needs: ['loseChat'],
    async check({ adapter, target, loseChat }) {
      loseChat()
      assertFailure('rejected', await adapter.send(messageTo(target, 'anybody there?'), neverAborted))
    },
  }),

  requirement({
    name: 'when the answer to a send is lost, the message may have arrived, and it is not sent twice',
    needs: ['dropResponse'],
    async check({ adapter, target, seen, dropResponse: loseAnswer, sentCalls }) {
      loseAnswer()
      const before = sentCalls?.() ?? 0
      const arrived = seen('Did you get it?')
      const result = assertFailure('temporary', await adapter.send(messageTo(target, 'Did you get it?'), neverAborted))
      assert.equal(result.maybeSent, true)
      await arrived
      if (sentCalls !== undefined) assert.equal(sentCalls() - before, 1)
    },
  }),

  requirement({
    name: 'a message whose answer was lost is found again',
    needs: ['dropResponse'],
    adapterNeeds: ['resolveUnknown'],
    async check({ adapter, target, dropResponse: loseAnswer }) {
      loseAnswer()
      const message = messageTo(target, 'Did you get it?')
      assertFailure('temporary', await adapter.send(message, neverAborted))
      const found = await adapter.resolveUnknown(message, neverAborted)
      assert.ok(found === 'unknown' || found.sent, JSON.stringify(found))
    },
  }),

  requirement({
    name: 'what was sent can be told from what was not, where the platform can tell',
    adapterNeeds: ['resolveUnknown'],
    async check({ adapter, target }) {
      const arrived = messageTo(target, 'I arrived', 'delivery-1')
      assert.equal((await adapter.send(arrived, neverAborted)).success, true)
      const found = await adapter.resolveUnknown(arrived, neverAborted)
      assert.ok(found === 'unknown' || found.sent)
      const missing = await adapter.resolveUnknown(messageTo(target, 'I did not', 'delivery-2'), neverAborted)
      assert.ok(missing === 'unknown' || !missing.sent)
    },
  }),

  requirement({
    name: 'no secret shows in the log, in an error or in the health',
    needs: ['secrets'],
    startsDisconnected: true,
    async check({
      adapter,
      gateway,
      target,
      say,
      secrets,
      createAnother: again,
      rateLimit,
      refuseToken,
      dropResponse: loseAnswer,
      makeUnreachable: breakDown,
    }) {
      const shown: unknown[] = []
      const send = async () => shown.push(await adapter.send(messageTo(target, 'hello'), neverAborted))
      await adapter.connect(neverAborted)
      await say('hello', 'one')
      for (const trouble of [() => undefined, () => rateLimit?.(1_000), loseAnswer, refuseToken, breakDown]) {
        trouble?.()
        await send()
      }
      if (breakDown !== undefined)
        await again?.()
          .connect(neverAborted)
          .catch((error) => shown.push(String(error.stack)))
      await adapter.disconnect()
      await send()
      const text = JSON.stringify([shown, gateway.logLines, gateway.healthReports])
      for (const secret of secrets)
        assert.ok(!text.includes(secret), `a secret shows in: ${isRedactedIn(text, secret)}`)
    },
  }),
]

type SendFailure = Extract<SendResult, { success: false }>

function assertFailure(problem: SendFailureKind, result: SendResult): SendFailure {
  assert.ok(!result.success, 'the send has succeeded')
  assert.equal(result.problem, problem, result.error)
  assert.notEqual(result.error, '')
  return result
}

function isRedactedIn(text: string, secret: string): string {
  const at = text.indexOf(secret)
  return text.slice(Math.max(0, at - 200), at + secret.length + 100)
}
