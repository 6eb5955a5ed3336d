/**
 * Writes lines in the background: the caller does not wait for the disk. Lines that do not fit into the queue are dropped
 * and counted.
 */
import { createCoalescer, type Logger, messageOf, type RotatingFile } from '#sdk'

export interface BufferedWriter {
  write(line: string): void
  /** Writes the queued lines and accepts no further ones. */
  close(): Promise<void>
}

export function createBufferedWriter(
  file: Pick<RotatingFile, 'append' | 'close'>,
  maxQueueBytes: number,
  log: Logger,
): BufferedWriter {
  let lines: string[] = []
  let queuedBytes = 0
  let droppedCount = 0
  let hasWarned = false
  let isClosed = false

  const writing = createCoalescer(async () => {
    // Lines of the same event loop turn are written together.
    await new Promise((resolve) => setImmediate(resolve))
    const batch = lines
    const bytes = queuedBytes
    lines = []
    try {
      await file.append(batch)
      logDropped()
    } catch (error) {
      droppedCount += batch.length
      if (!hasWarned)
        log.warn({ event: 'atof.write_failed', err: error }, `events cannot be written: ${messageOf(error)}`)
      hasWarned = true
    }
    queuedBytes -= bytes
  }, rethrow)

  function logDropped(): void {
    if (droppedCount > 0)
      log.warn({ event: 'atof.events_lost', lost: droppedCount }, 'events were lost; writing works again')
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
      file.close()
    },
  }
}

/** The run above handles its own errors. */
function rethrow(error: unknown): never {
  throw error
}
