/**
 * Limits the time that the gateway spends on reading from one host to half of each window. A handler can write to the pipe
 * without end, and each line costs the main thread more than the handler.
 */
import type { Readable } from 'node:stream'
import { sleep } from '../lib/timers.ts'

/** Time per window that may be spent on one host, in ms. */
const windowMs = 200
const maxBusyMs = 100

/** Calls `onChunk` with each chunk, and pauses the stream when the time is used up. Ends with the signal. */
export function readThrottled(stream: Readable, onChunk: (chunk: Buffer) => void, signal: AbortSignal): void {
  let windowStart = performance.now()
  let busyMs = 0
  stream.on('data', (chunk: Buffer) => {
    const startedAt = performance.now()
    if (startedAt - windowStart > windowMs) {
      windowStart = startedAt
      busyMs = 0
    }
    onChunk(chunk)
    busyMs += performance.now() - startedAt
    if (busyMs < maxBusyMs) return
    // A single line of many megabytes can take longer than the limit, so the pause is as long as the time spent.
    const pauseMs = busyMs
    busyMs = 0
    stream.pause()
    void sleep(pauseMs, signal).then(() => stream.resume())
  })
}
