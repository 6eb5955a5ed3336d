/**
 * Ids made by the gateway. Clock and randomness are parameters, so that tests can hold them still.
 */
import { randomBytes, randomUUID } from 'node:crypto'

export type Clock = () => number
/** Returns `length` random bytes. */
export type RandomBytes = (length: number) => Uint8Array
/** Returns a UUID version 4. Node makes many of them from one question to the system, so they cost next to nothing. */
export type RandomUuid = () => string

export const systemRandom: RandomBytes = (length) => randomBytes(length)

/** UUID version 7 (RFC 9562 §5.7): sortable by time, `now` in ms. */
export function uuid7(now: number, random: RandomUuid = randomUUID): string {
  const time = Math.floor(now).toString(16).padStart(12, '0')
  // Behind the number of the version both kinds look alike.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random().slice(15)}`
}

/** Session id `YYYYMMDD_HHMMSS_<8 hex>` in local time (contract §3.1). */
export function sessionIdAt(now: number, random: RandomUuid = randomUUID): string {
  const at = new Date(now)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${at.getFullYear()}${two(at.getMonth() + 1)}${two(at.getDate())}`
  const time = `${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`
  return `${day}_${time}_${random().slice(0, 8)}`
}
