/**
 * Ids of scopes and events: uuids of version 7 (RFC 9562 §5.7), fast because the randomness comes in pools.
 */
import { type RandomBytes, systemRandom } from '../lib/ids.ts'

/** A uuid for something that began at this time, µs since 1970. */
export type NewId = (us: number) => string

const poolBytes = 4_096
const bytesEach = 10

export function createEventIds(random: RandomBytes = systemRandom): NewId {
  const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
  let pool: Uint8Array = new Uint8Array(0)
  let used = 0
  const next = () => hex[pool[used++] ?? 0] ?? '00'
  return (us) => {
    if (used + bytesEach > pool.length) {
      pool = random(poolBytes)
      used = 0
    }
    const ms = Math.floor(us / 1_000)
    const time = ms.toString(16).padStart(12, '0')
    const version = ((pool[used++] ?? 0) & 0x0f) | 0x70
    const variant = ((pool[used++] ?? 0) & 0x3f) | 0x80
    return `${time.slice(0, 8)}-${time.slice(8, 12)}-${hex[version]}${next()}-${hex[variant]}${next()}-${next()}${next()}${next()}${next()}${next()}${next()}`
  }
}
