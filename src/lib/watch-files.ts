/**
 * Follows a few files by looking at them. Not by the system's notes of changes: those tell of a file that is replaced, or
 * that comes, only to who watches its folder, and beside the database each write of a turn would wake the process. A look
 * costs 10 µs a file, needs no package, and sees links, mounts and network folders, too.
 */
import { statSync } from 'node:fs'
import { messageOf } from './errors.ts'
import type { Logger } from './log.ts'

export interface WatchOptions {
  readonly log: Logger
  /** Time between two looks, ms. */
  readonly pollIntervalMs?: number
}

export interface FileWatcher {
  /** Ends watching; no call follows. May be called twice. */
  close(): void
}

/** A file that never rests is reported all the same, so many looks after its first change. */
const maxUnstablePolls = 5

/**
 * Calls `onChange` with the paths that came, changed or went, once a look finds them at rest. What it throws is logged.
 * Changes are seen from now on. Never throws.
 */
export function watchFiles(
  paths: readonly string[],
  onChange: (changed: readonly string[]) => void,
  { log, pollIntervalMs: everyMs = 250 }: WatchOptions,
): FileWatcher {
  const fingerprints = new Map(paths.map((path) => [path, fingerprintOf(path)]))
  const pending = new Set<string>()
  let polls = 0

  const poll = () => {
    let atRest = true
    for (const [path, before] of fingerprints) {
      const now = fingerprintOf(path)
      if (now === before) continue
      fingerprints.set(path, now)
      pending.add(path)
      atRest = false
    }
    if (pending.size === 0) return
    polls += 1
    if (!atRest && polls <= maxUnstablePolls) return
    const changed = [...pending]
    pending.clear()
    polls = 0
    try {
      onChange(changed)
    } catch (error) {
      log.error({ err: error, paths: changed }, 'a change of watched files could not be handled')
    }
  }

  const timer = setInterval(poll, everyMs)
  return { close: () => clearInterval(timer) }
}

/** Differs whenever the file was written, replaced, or came or went. */
function fingerprintOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (found === undefined) return 'none'
    return `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`
  } catch (error) {
    // Whoever reads it will say why it cannot be.
    return messageOf(error)
  }
}
