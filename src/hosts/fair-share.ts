/**
 * Reads what a host says, but no faster than leaves the gateway half of its time: a handler may write into its pipe
 * without end, and each line costs the main thread more than it costs the handler.
 */
import type { Readable } from 'node:stream'
import { pause } from '../lib/wait.ts'

/** Of each window, ms, this much may go into one host. */
const windowMs = 200
const shareMs = 100

/** `take` is called with each piece; while its share is used up the host has to wait. Ends with the signal. */
export function readFairly(stream: Readable, take: (chunk: Buffer) => void, over: AbortSignal): void {
  let since = performance.now()
  let spent = 0
  stream.on('data', (chunk: Buffer) => {
    const began = performance.now()
    if (began - since > windowMs) {
      since = began
      spent = 0
    }
    take(chunk)
    spent += performance.now() - began
    if (spent < shareMs) return
    // As long as it took: one line of many megabytes may have used more than its share at once.
    const rest = spent
    spent = 0
    stream.pause()
    void pause(rest, over).then(() => stream.resume())
  })
}
