/**
 * Branded id types and the ids that the gateway generates. Clock and randomness are parameters, so that tests control them.
 */
import { randomBytes, randomUUID } from 'node:crypto'

declare const kind: unique symbol

/** A string type that is not assignable to another kind of id. */
export type Brand<Kind extends string> = string & { readonly [kind]: Kind }

/** Converts a string to a branded type. Nothing else does. */
export function brand<Branded extends Brand<string>>(value: string): Branded {
  return value as Branded
}

export type Clock = () => number
/** Returns `length` random bytes. */
export type RandomBytes = (length: number) => Uint8Array
/** Returns a UUID version 4. Node generates them in batches, so that one costs little. */
export type RandomUuid = () => string

export const systemRandom: RandomBytes = (length) => randomBytes(length)

/** UUID version 7 (RFC 9562 §5.7): sortable by time, `now` in ms. */
export function uuid7(now: number, random: RandomUuid = randomUUID): string {
  const time = Math.floor(now).toString(16).padStart(12, '0')
  // Versions 4 and 7 have the same layout after the version digit.
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
