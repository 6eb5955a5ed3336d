/**
 * The files by which a running daemon is found: `gateway.pid`, and where it listens.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'

export interface DaemonAddress {
  readonly pid: number
  readonly url: string
}

/** Leaves a note for other processes; `withdrawDaemon` takes it away. */
export function writePidFile(home: HomeLayout, address: DaemonAddress): void {
  ensureDirectory(home.cache)
  writeFileAtomic(home.pidFile, `${address.pid}\n`, 0o600)
  writeFileAtomic(addressFileOf(home), JSON.stringify(address), 0o600)
}

/** Takes the note away, unless it is by now another process's. May be called twice. */
export function removePidFile(home: HomeLayout, pid: number): void {
  if (readTextIfExists(home.pidFile, 64)?.trim() !== String(pid)) return
  rmSync(home.pidFile, { force: true })
  rmSync(addressFileOf(home), { force: true })
}

/** Where the daemon of this home listens, or undefined when none left a note. It may have died without taking it along. */
export function readDaemonAddress(home: HomeLayout): DaemonAddress | undefined {
  const text = readTextIfExists(addressFileOf(home), 4_096)
  if (text === undefined) return undefined
  const found: unknown = JSON.parse(text)
  if (typeof found !== 'object' || found === null || !('pid' in found) || !('url' in found)) return undefined
  const { pid, url } = found
  return typeof pid === 'number' && typeof url === 'string' ? { pid, url } : undefined
}

function addressFileOf(home: HomeLayout): string {
  return join(home.cache, 'gateway.json')
}
