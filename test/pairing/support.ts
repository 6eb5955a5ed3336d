/**
 * A pairing store in a temporary home, with a clock that the test moves.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openPairing } from '../../src/flows/access/pairing-admin.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createPairing } from '../../src/pairing/pairing.ts'
import { createPairingFiles } from '../../src/pairing/pairing-files.ts'
import { tempHome } from '../kit/temp-home.ts'

export const platform = 'telegram'

export function startStore(t: TestContext) {
  const home = createHomeLayout(tempHome(t))
  let now = Date.UTC(2026, 0, 1)
  const clock = () => now
  const open = () => openPairing({ home, clock, log: silentLog })
  let pairing = open()
  const request = (userId: string) => pairing.request({ platform, userId, userName: userId })
  return {
    home,
    pairing: () => pairing,
    /** A second process that only reads. */
    reader: () => createPairing(createPairingFiles(home), clock, randomBytes),
    now: clock,
    moveClock(seconds: number) {
      now += seconds * 1_000
    },
    restart() {
      pairing = open()
    },
    request,
    /** Requests a code, which must succeed. */
    codeFor(userId: string): string {
      const result = request(userId)
      assert.equal(result.status, 'created')
      return result.status === 'created' ? result.code : ''
    },
    approve: (code: string) => pairing.approve(platform, code),
    isPaired: (userId: string) => pairing.people().users.get(platform)?.has(userId) === true,
    read: (name: string): Record<string, unknown> => JSON.parse(readFileSync(join(home.pairing, name), 'utf8')),
    write(name: string, content: unknown, directory = home.pairing) {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      writeFileSync(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content))
    },
    files: () => readdirSync(home.pairing).sort(),
  }
}
