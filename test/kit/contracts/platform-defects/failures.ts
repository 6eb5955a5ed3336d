/**
 * Defects that break the promises of trouble on the platform's side.
 */
import { type Defect, withDefect, withWrongResult } from './create-defect.ts'

export const failureDefects: readonly Defect[] = [
  {
    breaks: [
      'a platform that cannot be reached is a temporary problem',
      'when the answer to a send is lost, the message may have arrived, and it is not sent twice',
      'a message whose answer was lost is found again',
    ],
    create: withWrongResult((result) => (result.maybeSent === true ? { ...result, problem: 'rejected' } : result)),
  },
  {
    breaks: ['too many calls is told with the wait, and not tried again behind the back of the outbox'],
    create: withWrongResult(({ retryAfterMs, ...result }) => ({
      ...result,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs: retryAfterMs / 1_000 }),
    })),
  },
  {
    breaks: ['too many calls is told with the wait, and not tried again behind the back of the outbox'],
    create: withDefect((honest) => ({
      async send(message, signal) {
        const result = await honest.send(message, signal)
        if (!result.success && result.problem === 'rate-limited') await honest.send(message, signal)
        return result
      },
    })),
  },
  {
    breaks: ['a token that is no longer right stops the account'],
    create: withWrongResult((result) =>
      result.problem === 'unauthorised' ? { ...result, problem: 'rejected' } : result,
    ),
  },
  {
    breaks: ['a chat that is gone rejects the message, and nobody tries it again'],
    create: withDefect((honest) => ({
      async send(message, signal) {
        const result = await honest.send(message, signal)
        const gone = !result.success && result.error.includes('no such chat')
        return gone ? { ...result, problem: 'temporary' } : result
      },
    })),
  },
  {
    breaks: ['when the answer to a send is lost, the message may have arrived, and it is not sent twice'],
    create: withWrongResult(({ maybeSent: _, ...result }) => result),
  },
  {
    breaks: ['when the answer to a send is lost, the message may have arrived, and it is not sent twice'],
    create: withDefect((honest) => ({
      async send(message, signal) {
        const result = await honest.send(message, signal)
        if (!result.success && result.maybeSent === true) await honest.send(message, signal)
        return result
      },
    })),
  },
  {
    breaks: ['a message whose answer was lost is found again'],
    create: withDefect((honest) => {
      const answered = new Set<string>()
      return {
        async send(message, signal) {
          const result = await honest.send(message, signal)
          if (result.success) answered.add(message.deliveryId)
          return result
        },
        resolveUnknown: async ({ deliveryId }) => (answered.has(deliveryId) ? { sent: true } : { sent: false }),
      }
    }),
  },
  {
    breaks: ['what was sent can be told from what was not, where the platform can tell'],
    create: withDefect(() => ({ resolveUnknown: async () => ({ sent: true }) })),
  },
  {
    breaks: ['no secret shows in the log, in an error or in the health'],
    create: withWrongResult((result) => ({
      ...result,
      error: `${result.error} (with the-token-of-the-fake-platform)`,
    })),
  },
  {
    breaks: ['no secret shows in the log, in an error or in the health'],
    create: withDefect((honest, context) => ({
      async connect(signal) {
        context.log.debug({ headers: { authorization: `Bearer ${context.options['token']}` } }, 'connects')
        await honest.connect(signal)
      },
    })),
  },
]
