/**
 * Lines on their way to the disk: whoever hands one in does not wait, and what does not fit into the queue is dropped and
 * counted.
 */
import { createLatest, type Logger, messageOf } from '#sdk'
import type { RotatedFile } from './rotated-file.ts'

export interface Writer {
  write(line: string): void
  /** Writes what waits, and takes nothing more. */
  close(): Promise<void>
}

export interface WriterDeps {
  readonly file: RotatedFile
  readonly maxQueueBytes: number
  readonly log: Logger
}

export function createWriter({ file, maxQueueBytes, log }: WriterDeps): Writer {
  let lines: string[] = []
  let waiting = 0
  let lost = 0
  let isTold = false
  let isClosed = false

  const writing = createLatest(async () => {
    // What comes at the same time is written at once.
    await new Promise((resolve) => setImmediate(resolve))
    const batch = lines
    const bytes = waiting
    lines = []
    try {
      await file.append(batch)
      tellLost()
    } catch (error) {
      lost += batch.length
      if (!isTold) log.warn({ error }, `events cannot be written: ${messageOf(error)}`)
      isTold = true
    }
    waiting -= bytes
  }, throwOn)

  function tellLost(): void {
    if (lost > 0) log.warn({ lost }, `${lost} events were not written; now they are again`)
    lost = 0
    isTold = false
  }

  return {
    write(line) {
      if (isClosed) return
      const bytes = Buffer.byteLength(line) + 1
      if (waiting + bytes > maxQueueBytes) {
        lost += 1
        return
      }
      lines.push(line)
      waiting += bytes
      writing.changed()
    },
    async close() {
      isClosed = true
      await writing.settled()
      await file.close()
    },
  }
}

/** Nothing in a run rejects. */
function throwOn(error: unknown): never {
  throw error
}
