/**
 * The files by which commands find the running daemon: `gateway.pid`, and `gateway.json` with its address.
 */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from './files.ts'
import type { HomeLayout } from './home.ts'
import { asRecord, parseJson } from './json.ts'

export interface DaemonAddress {
  readonly pid: number
  readonly url: string
}

/** `removePidFile` removes what this writes. */
export function writePidFile(home: HomeLayout, address: DaemonAddress): void {
  ensureDirectory(home.cache)
  writeFileAtomic(home.pidFile, `${address.pid}\n`, 0o600)
  writeFileAtomic(addressFileOf(home), JSON.stringify(address), 0o600)
}

/** Removes the files unless they belong to another process by now. May be called twice. */
export function removePidFile(home: HomeLayout, pid: number): void {
  if (readTextIfExists(home.pidFile, 64)?.trim() !== String(pid)) return
  rmSync(home.pidFile, { force: true })
  rmSync(addressFileOf(home), { force: true })
}

/** The address of the daemon of this home; undefined without a file. The daemon may have crashed without removing it. */
export function readDaemonAddress(home: HomeLayout): DaemonAddress | undefined {
  const text = readTextIfExists(addressFileOf(home), 4_096)
  if (text === undefined) return undefined
  const { pid, url } = asRecord(parseJson(text))
  return typeof pid === 'number' && typeof url === 'string' ? { pid, url } : undefined
}

function addressFileOf(home: HomeLayout): string {
  return join(home.cache, 'gateway.json')
}
