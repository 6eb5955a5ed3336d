/**
 * Ids made by the gateway. Clock and randomness are parameters, so that tests can hold them still.
 */
import { randomBytes } from 'node:crypto'

export type Clock = () => number
/** Returns `length` random bytes. */
export type RandomBytes = (length: number) => Uint8Array

export const systemRandom: RandomBytes = (length) => randomBytes(length)

/** UUID version 7 (RFC 9562 §5.7): sortable by time, `now` in ms. */
export function uuid7(now: number, random: RandomBytes = systemRandom): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(now, 0, 6)
  bytes.set(random(10), 6)
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Session id `YYYYMMDD_HHMMSS_<8 hex>` in local time (contract §3.1). */
export function sessionIdAt(now: number, random: RandomBytes = systemRandom): string {
  const at = new Date(now)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${at.getFullYear()}${two(at.getMonth() + 1)}${two(at.getDate())}`
  const time = `${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`
  return `${day}_${time}_${Buffer.from(random(4)).toString('hex')}`
}
