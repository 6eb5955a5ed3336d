/**
 * Ids of scopes and events: uuids of version 7 (RFC 9562 §5.7), fast because the randomness comes in pools.
 */
import { type RandomBytes, systemRandom } from '../lib/ids.ts'

/** A uuid for something that began at this time, µs since 1970. */
export type EventIdGenerator = (us: number) => string

const poolBytes = 4_096
/** Hexadecimal digits of one id that are random, beside the two bits of the variant. */
const digitsPerId = 19

export function createEventIdGenerator(random: RandomBytes = systemRandom): EventIdGenerator {
  let pool = ''
  let used = 0
  let lastMs = -1
  let time = ''
  return (us) => {
    const ms = Math.floor(us / 1_000)
    if (ms !== lastMs) {
      const digits = ms.toString(16).padStart(12, '0')
      time = `${digits.slice(0, 8)}-${digits.slice(8)}`
      lastMs = ms
    }
    if (used + digitsPerId > pool.length) {
      pool = Buffer.from(random(poolBytes)).toString('hex')
      used = 0
    }
    const at = used
    used += digitsPerId
    const variant = '89ab'[pool.charCodeAt(at) & 3]
    return `${time}-7${pool.slice(at + 1, at + 4)}-${variant}${pool.slice(at + 4, at + 7)}-${pool.slice(at + 7, at + digitsPerId)}`
  }
}
