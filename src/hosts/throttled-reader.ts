/**
 * Reads what a host says, but no faster than leaves the gateway half of its time: a handler may write into its pipe
 * without end, and each line costs the main thread more than it costs the handler.
 */
import type { Readable } from 'node:stream'
import { sleep } from '../lib/timers.ts'

/** Of each window, ms, this much may go into one host. */
const windowMs = 200
const maxBusyMs = 100

/** `take` is called with each piece; while its share is used up the host has to wait. Ends with the signal. */
export function readThrottled(stream: Readable, onChunk: (chunk: Buffer) => void, signal: AbortSignal): void {
  let windowStart = performance.now()
  let busyMs = 0
  stream.on('data', (chunk: Buffer) => {
    const began = performance.now()
    if (began - windowStart > windowMs) {
      windowStart = began
      busyMs = 0
    }
    onChunk(chunk)
    busyMs += performance.now() - began
    if (busyMs < maxBusyMs) return
    // As long as it took: one line of many megabytes may have used more than its share at once.
    const pauseMs = busyMs
    busyMs = 0
    stream.pause()
    void sleep(pauseMs, signal).then(() => stream.resume())
  })
}
