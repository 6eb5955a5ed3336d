/**
 * Promises about what goes wrong on the platform's side: each trouble has its name, nothing is tried again behind the
 * gateway's back, and no secret shows.
 */
import assert from 'node:assert/strict'
import type { SendProblem, SendResult } from '../../../../src/message/outbound.ts'
import { messageTo, never, type PlatformPromise, promise } from '../platform-promise.ts'

export const troublePromises: readonly PlatformPromise[] = [
  promise({
    name: 'a platform that cannot be reached is a temporary problem',
    needs: ['breakDown'],
    async check({ adapter, target, breakDown }) {
      breakDown()
      failsWith('temporary', await adapter.send(messageTo(target, 'anybody there?'), never))
    },
  }),

  promise({
    name: 'too many calls is told with the wait, and not tried again behind the back of the outbox',
    needs: ['rateLimit', 'sentCalls'],
    async check({ adapter, target, rateLimit, sentCalls }) {
      rateLimit(2_000)
      const before = sentCalls()
      const result = failsWith('rate-limited', await adapter.send(messageTo(target, 'now!'), never))
      const { retryAfterMs = 0 } = result
      assert.ok(retryAfterMs >= 2_000 && retryAfterMs <= 3_000, `told to wait ${retryAfterMs} ms`)
      assert.notEqual(result.maybeSent, true)
      assert.equal(sentCalls() - before, 1)
    },
  }),

  promise({
    name: 'a token that is no longer right stops the account',
    needs: ['refuseToken'],
    async check({ adapter, target, refuseToken }) {
      refuseToken()
      failsWith('unauthorised', await adapter.send(messageTo(target, 'let me in'), never))
    },
  }),

  promise({
    name: 'a chat that is gone rejects the message, and nobody tries it again',
    needs: ['loseChat'],
    async check({ adapter, target, loseChat }) {
      loseChat()
      failsWith('rejected', await adapter.send(messageTo(target, 'anybody there?'), never))
    },
  }),

  promise({
    name: 'when the answer to a send is lost, the message may have arrived, and it is not sent twice',
    needs: ['loseAnswer'],
    async check({ adapter, target, seen, loseAnswer, sentCalls }) {
      loseAnswer()
      const before = sentCalls?.() ?? 0
      const arrived = seen('Did you get it?')
      const result = failsWith('temporary', await adapter.send(messageTo(target, 'Did you get it?'), never))
      assert.equal(result.maybeSent, true)
      await arrived
      if (sentCalls !== undefined) assert.equal(sentCalls() - before, 1)
    },
  }),

  promise({
    name: 'a message whose answer was lost is found again',
    needs: ['loseAnswer'],
    abilities: ['resolveUnknown'],
    async check({ adapter, target, loseAnswer }) {
      loseAnswer()
      const message = messageTo(target, 'Did you get it?')
      failsWith('temporary', await adapter.send(message, never))
      const found = await adapter.resolveUnknown(message, never)
      assert.ok(found === 'unknown' || found.sent, JSON.stringify(found))
    },
  }),

  promise({
    name: 'what was sent can be told from what was not, where the platform can tell',
    abilities: ['resolveUnknown'],
    async check({ adapter, target }) {
      const arrived = messageTo(target, 'I arrived', 'delivery-1')
      assert.equal((await adapter.send(arrived, never)).success, true)
      const found = await adapter.resolveUnknown(arrived, never)
      assert.ok(found === 'unknown' || found.sent)
      const missing = await adapter.resolveUnknown(messageTo(target, 'I did not', 'delivery-2'), never)
      assert.ok(missing === 'unknown' || !missing.sent)
    },
  }),

  promise({
    name: 'no secret shows in the log, in an error or in the health',
    needs: ['secrets'],
    fresh: true,
    async check({ adapter, gateway, target, say, secrets, again, rateLimit, refuseToken, loseAnswer, breakDown }) {
      const shown: unknown[] = []
      const send = async () => shown.push(await adapter.send(messageTo(target, 'hello'), never))
      await adapter.connect(never)
      await say('hello', 'one')
      for (const trouble of [() => undefined, () => rateLimit?.(1_000), loseAnswer, refuseToken, breakDown]) {
        trouble?.()
        await send()
      }
      if (breakDown !== undefined)
        await again?.()
          .connect(never)
          .catch((error) => shown.push(String(error.stack)))
      await adapter.disconnect()
      await send()
      const text = JSON.stringify([shown, gateway.logLines, gateway.healths])
      for (const secret of secrets) assert.ok(!text.includes(secret), `a secret shows in: ${around(text, secret)}`)
    },
  }),
]

type Failure = Extract<SendResult, { success: false }>

function failsWith(problem: SendProblem, result: SendResult): Failure {
  assert.ok(!result.success, 'the send has succeeded')
  assert.equal(result.problem, problem, result.error)
  assert.notEqual(result.error, '')
  return result
}

function around(text: string, secret: string): string {
  const at = text.indexOf(secret)
  return text.slice(Math.max(0, at - 200), at + secret.length + 100)
}
