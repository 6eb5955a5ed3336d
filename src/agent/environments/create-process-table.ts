/**
 * The background commands of one session, with what they have printed.
 */
import type { Clock } from '../../lib/ids.ts'
import type { ProcessEntry, ProcessTable } from './process-table.ts'

export interface ProcessTableOptions {
  readonly now: Clock
  /** Characters of output kept per command; the oldest go first. */
  readonly maxLogChars?: number
  /** Ended commands remembered; the oldest are forgotten first. Running ones are never forgotten. */
  readonly maxExited?: number
}

export function createProcessTable(options: ProcessTableOptions): ProcessTable {
  const { now, maxLogChars = 100_000, maxExited = 32 } = options
  const entries = new Map<string, ProcessEntry>()
  let made = 0

  const forgetOldest = () => {
    const ended = [...entries.values()].filter((entry) => entry.exit() !== undefined)
    for (const entry of ended.slice(0, Math.max(0, ended.length - maxExited))) entries.delete(entry.id)
  }

  return {
    add(command, process) {
      made += 1
      const log = createTextTail(maxLogChars)
      const fresh = createTextTail(maxLogChars)
      let exit: { exitCode: number | null; at: number } | undefined
      const entry: ProcessEntry = {
        id: `proc_${made}`,
        command,
        startedAt: now(),
        process,
        takeOutput: () => fresh.take(),
        log: () => log.text(),
        exit: () => exit,
      }
      process.onOutput((text) => {
        log.add(text)
        fresh.add(text)
      })
      void process.exited.then(({ exitCode }) => {
        exit = { exitCode, at: now() }
        forgetOldest()
      })
      entries.set(entry.id, entry)
      return entry
    },
    get: (id) => entries.get(id),
    list: () => [...entries.values()],
    killAll() {
      for (const entry of entries.values()) if (entry.exit() === undefined) entry.process.kill()
    },
  }
}

/** The last `maxChars` characters of a growing text. Trims in steps, so that adding stays cheap. */
function createTextTail(maxChars: number) {
  let kept = ''
  let dropped = false
  const trim = (limit: number) => {
    if (kept.length <= limit) return
    const cut = kept.slice(-maxChars)
    // Never begin with the second half of a surrogate pair.
    kept = /^[\uDC00-\uDFFF]/.test(cut) ? cut.slice(1) : cut
    dropped = true
  }
  const text = () => {
    trim(maxChars)
    return dropped ? `[… earlier output left out …]\n${kept}` : kept
  }
  return {
    add(more: string) {
      kept += more
      trim(maxChars * 2)
    },
    text,
    take() {
      const taken = text()
      kept = ''
      dropped = false
      return taken
    },
  }
}
