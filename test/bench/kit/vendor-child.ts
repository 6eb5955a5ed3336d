/**
 * The local server of one chat platform and its users in a separate process. Each user writes again as soon as the
 * reply arrives. The first argument is the platform.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { handleRequest } from './child-requests.ts'
import { quantile } from './stats.ts'
import { startVendor, vendorNames } from './vendors.ts'

const vendor = await startVendor(z.enum(vendorNames).parse(process.argv[2]))
const answered = new Map<number, () => void>()
vendor.onReply((user) => {
  answered.get(user)?.()
  answered.delete(user)
})

handleRequest('options', z.looseObject({}), () => vendor.options)

const loadSchema = z.object({
  /** The number of the first user; every run has new users. */
  first: z.number(),
  /** Users who write at the same time. */
  chats: z.number(),
  turns: z.number(),
  /** After this number of turns a user is replaced by another, so that no request grows long. */
  perSession: z.number(),
  /** Delay between a reply and the next message; 0 for none. */
  pauseMs: z.number(),
  /** Default: the number of the message. */
  text: z.string().optional(),
})

handleRequest('load', loadSchema, async ({ first, chats, turns, perSession, pauseMs, text }) => {
  const times: number[] = []
  const calls = vendor.calls()
  let next = first
  let left = turns
  const runUser = async () => {
    for (let done = 0, user = next; left > 0; done += 1) {
      if (done % perSession === 0) user = next++
      left -= 1
      const begun = performance.now()
      const replied = new Promise<void>((resolve) => answered.set(user, resolve))
      vendor.say(user, text ?? `message number ${times.length}`)
      await replied
      times.push(performance.now() - begun)
      if (pauseMs > 0) await pause(pauseMs)
    }
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: chats }, runUser))
  const ms = performance.now() - begun
  return { ms, p50: quantile(times, 0.5), p99: quantile(times, 0.99), next, calls: vendor.calls() - calls }
})
process.send?.('up')
