/**
 * The local server of one chat product and the people in it, in a process of their own: each writes again as soon as the
 * answer is there. Which product is the first argument.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { answer } from './asking.ts'
import { quantile } from './stats.ts'
import { startVendor, vendorNames } from './vendors.ts'

const vendor = await startVendor(z.enum(vendorNames).parse(process.argv[2]))
const answered = new Map<number, () => void>()
vendor.onAnswer((person) => {
  answered.get(person)?.()
  answered.delete(person)
})

answer('options', z.looseObject({}), () => vendor.options)

const loadSchema = z.object({
  /** The number of the first person; every run has people of its own. */
  first: z.number(),
  /** People who write at the same time. */
  chats: z.number(),
  turns: z.number(),
  /** After so many turns somebody else takes the place of a person, so that no request grows long. */
  perSession: z.number(),
  /** Between an answer and the next message; 0 is at once. */
  pauseMs: z.number(),
})

answer('load', loadSchema, async ({ first, chats, turns, perSession, pauseMs }) => {
  const times: number[] = []
  const calls = vendor.calls()
  let next = first
  let left = turns
  const place = async () => {
    for (let done = 0, person = next; left > 0; done += 1) {
      if (done % perSession === 0) person = next++
      left -= 1
      const begun = performance.now()
      const replied = new Promise<void>((resolve) => answered.set(person, resolve))
      vendor.say(person, `message number ${times.length}`)
      await replied
      times.push(performance.now() - begun)
      if (pauseMs > 0) await pause(pauseMs)
    }
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: chats }, place))
  const ms = performance.now() - begun
  return { ms, p50: quantile(times, 0.5), p99: quantile(times, 0.99), next, calls: vendor.calls() - calls }
})
process.send?.('up')
