/**
 * A credential pool over a real file, with a clock and random numbers of the test.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createCredentialPool } from '../../../../src/agent/models/credentials/pool.ts'
import { createSharedAuthFile } from '../../../../src/agent/models/credentials/shared-auth-file.ts'
import { createCredentialState, type ReferencedKey } from '../../../../src/agent/models/credentials/state.ts'
import type { Strategy } from '../../../../src/agent/models/credentials/strategy.ts'
import { asRecord, parseJson } from '../../../../src/lib/json.ts'
import { type Logger, silentLog } from '../../../../src/lib/log.ts'

export interface StoredKey {
  readonly id: string
  readonly access_token?: string
  readonly [field: string]: unknown
}

export interface PoolOptions {
  readonly stored?: readonly StoredKey[]
  readonly referenced?: readonly ReferencedKey[]
  readonly strategy?: Strategy
  readonly random?: () => number
  readonly log?: Logger
}

export function startPool(t: TestContext, { stored, referenced = [], strategy, random, log }: PoolOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'hermes-credentials-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'auth.json')
  const write = (keys: readonly StoredKey[]) =>
    writeFileSync(path, JSON.stringify({ version: 1, credential_pool: { openai: keys } }), { mode: 0o600 })
  if (stored !== undefined) write(stored)
  const time = { now: 1_000_000 }
  let keys = referenced
  const open = () => {
    const file = createSharedAuthFile(path, log ?? silentLog)
    const state = createCredentialState(file, () => keys, log ?? silentLog)
    const pool = createCredentialPool({
      state,
      strategyOf: () => strategy ?? 'fill_first',
      clock: () => time.now,
      random: random ?? Math.random,
      log: log ?? silentLog,
    })
    return { state, pool }
  }
  return {
    ...open(),
    /** Opens the pool like another process does, or a restart. */
    open,
    path,
    time,
    write,
    setReferenced: (next: readonly ReferencedKey[]) => {
      keys = next
    },
    read: () => asRecord(parseJson(readFileSync(path, 'utf8'))),
    text: () => readFileSync(path, 'utf8'),
  }
}

export const minute = 60_000

export function keys(...ids: readonly string[]): StoredKey[] {
  return ids.map((id, priority) => ({ id, label: id, priority, source: 'manual', access_token: `secret-of-${id}` }))
}

export const refused = { kind: 'auth', status: 401, message: 'refused' } as const
export const limited = { kind: 'rate-limit', status: 429, message: 'too many' } as const
export const unpaid = { kind: 'billing', status: 402, message: 'no credit' } as const

/** The pool of a process, with the lock that all processes use. */
export function openPool(path: string, clock: () => number, strategy: Strategy = 'fill_first') {
  const file = createSharedAuthFile(path, silentLog)
  const state = createCredentialState(file, () => [], silentLog)
  const random = Math.random
  const pool = createCredentialPool({ state, strategyOf: () => strategy, clock, random, log: silentLog })
  return { pool, state, update: file.update }
}
