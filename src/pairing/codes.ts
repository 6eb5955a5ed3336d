/**
 * Pairing codes (contract §3.10): 8 characters without look-alikes. Only a salted hash of a code is stored.
 */
import { createHash, timingSafeEqual } from 'node:crypto'

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const codeChars = 8
const saltBytes = 16

export type RandomBytes = (count: number) => Uint8Array

export interface HashedCode {
  /** Hexadecimal. */
  readonly salt: string
  /** SHA-256 over salt and code, hexadecimal. */
  readonly hash: string
}

/** The alphabet has 32 characters, so that five bits of a random byte choose one without bias. */
export function createCode(randomBytes: RandomBytes): string {
  return [...randomBytes(codeChars)].map((byte) => alphabet[byte % alphabet.length]).join('')
}

export function hashCode(code: string, randomBytes: RandomBytes): HashedCode {
  const salt = Buffer.from(randomBytes(saltBytes))
  return { salt: salt.toString('hex'), hash: digest(code, salt).toString('hex') }
}

/** Takes the same time for every code. */
export function matchesCode(code: string, { salt, hash }: HashedCode): boolean {
  const stored = Buffer.from(hash, 'hex')
  const given = digest(code, Buffer.from(salt, 'hex'))
  return stored.length === given.length && timingSafeEqual(stored, given)
}

/** Accepts a code as people type it: in lower case, with blanks or hyphens. */
export function normalizeCode(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}

function digest(code: string, salt: Uint8Array): Buffer {
  return createHash('sha256').update(salt).update(code, 'utf8').digest()
}
