/**
 * Defects that break the promises about failures.
 */
import { type Defect, withDefect, withWrongResult } from './create-defect.ts'

export const failureDefects: readonly Defect[] = [
  {
    breaks: [
      'sending to an unreachable platform fails with `temporary`',
      'a lost response to a send sets `maybeSent`, and the adapter does not send again',
      '`resolveUnknown` finds a message whose response was lost',
    ],
    create: withWrongResult((result) => (result.maybeSent === true ? { ...result, problem: 'rejected' } : result)),
  },
  {
    breaks: ['a rate limit is reported with its wait time, and the adapter does not retry'],
    create: withWrongResult(({ retryAfterMs, ...result }) => ({
      ...result,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs: retryAfterMs / 1_000 }),
    })),
  },
  {
    breaks: ['a rate limit is reported with its wait time, and the adapter does not retry'],
    create: withDefect((correct) => ({
      async send(message, signal) {
        const result = await correct.send(message, signal)
        if (!result.success && result.problem === 'rate-limited') await correct.send(message, signal)
        return result
      },
    })),
  },
  {
    breaks: ['a revoked token fails with `unauthorised`, which stops the account'],
    create: withWrongResult((result) =>
      result.problem === 'unauthorised' ? { ...result, problem: 'rejected' } : result,
    ),
  },
  {
    breaks: ['sending to a chat that does not exist fails with `rejected`, so that the message is not retried'],
    create: withDefect((correct) => ({
      async send(message, signal) {
        const result = await correct.send(message, signal)
        const gone = !result.success && result.error.includes('no such chat')
        return gone ? { ...result, problem: 'temporary' } : result
      },
    })),
  },
  {
    breaks: ['a lost response to a send sets `maybeSent`, and the adapter does not send again'],
    create: withWrongResult(({ maybeSent: _, ...result }) => result),
  },
  {
    breaks: ['a lost response to a send sets `maybeSent`, and the adapter does not send again'],
    create: withDefect((correct) => ({
      async send(message, signal) {
        const result = await correct.send(message, signal)
        if (!result.success && result.maybeSent === true) await correct.send(message, signal)
        return result
      },
    })),
  },
  {
    breaks: ['`resolveUnknown` finds a message whose response was lost'],
    create: withDefect((correct) => {
      const answered = new Set<string>()
      return {
        async send(message, signal) {
          const result = await correct.send(message, signal)
          if (result.success) answered.add(message.deliveryId)
          return result
        },
        resolveUnknown: async ({ deliveryId }) => (answered.has(deliveryId) ? { sent: true } : { sent: false }),
      }
    }),
  },
  {
    breaks: ['`resolveUnknown` tells sent messages from unsent ones'],
    create: withDefect(() => ({ resolveUnknown: async () => ({ sent: true }) })),
  },
  {
    breaks: ['no secret appears in the log, in an error or in a health report'],
    create: withWrongResult((result) => ({
      ...result,
      error: `${result.error} (with the-token-of-the-fake-platform)`,
    })),
  },
  {
    breaks: ['no secret appears in the log, in an error or in a health report'],
    create: withDefect((correct, context) => ({
      async connect(signal) {
        context.log.debug({ headers: { authorization: `Bearer ${context.options['token']}` } }, 'connects')
        await correct.connect(signal)
      },
    })),
  },
]
