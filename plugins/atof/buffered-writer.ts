/**
 * Lines on their way to the disk: whoever hands one in does not wait, and what does not fit into the queue is dropped and
 * counted.
 */
import { createCoalescer, type Logger, messageOf } from '#sdk'
import type { RotatingFile } from './rotating-file.ts'

export interface BufferedWriter {
  write(line: string): void
  /** Writes what waits, and takes nothing more. */
  close(): Promise<void>
}

export interface BufferedWriterDeps {
  readonly file: RotatingFile
  readonly maxQueueBytes: number
  readonly log: Logger
}

export function createBufferedWriter({ file, maxQueueBytes, log }: BufferedWriterDeps): BufferedWriter {
  let lines: string[] = []
  let queuedBytes = 0
  let droppedCount = 0
  let hasWarned = false
  let isClosed = false

  const writing = createCoalescer(async () => {
    // What comes at the same time is written at once.
    await new Promise((resolve) => setImmediate(resolve))
    const batch = lines
    const bytes = queuedBytes
    lines = []
    try {
      await file.append(batch)
      logDropped()
    } catch (error) {
      droppedCount += batch.length
      if (!hasWarned) log.warn({ error }, `events cannot be written: ${messageOf(error)}`)
      hasWarned = true
    }
    queuedBytes -= bytes
  }, rethrow)

  function logDropped(): void {
    if (droppedCount > 0)
      log.warn({ lost: droppedCount }, `${droppedCount} events were not written; now they are again`)
    droppedCount = 0
    hasWarned = false
  }

  return {
    write(line) {
      if (isClosed) return
      const bytes = Buffer.byteLength(line) + 1
      if (queuedBytes + bytes > maxQueueBytes) {
        droppedCount += 1
        return
      }
      lines.push(line)
      queuedBytes += bytes
      writing.schedule()
    },
    async close() {
      isClosed = true
      await writing.idle()
      await file.close()
    },
  }
}

/** Nothing in a run rejects. */
function rethrow(error: unknown): never {
  throw error
}
