/**
 * Limits the total memory of unauthenticated request bodies: a webhook is read before its platform can verify the sender.
 * Small bodies are always accepted, so that large ones cannot block them.
 */
import type { IncomingHttpHeaders } from 'node:http'

export interface BodyMemoryLimiter {
  /** Reserves memory for the announced body, or returns `undefined` if there is not enough. The result releases it, once. */
  reserve(headers: IncomingHttpHeaders): (() => void) | undefined
}

const smallBodyBytes = 64 * 1024
/** Number of bodies of the maximum size at the same time. */
const maxLargeBodies = 4

/** @param maxBodyBytes maximum size of one body */
export function createBodyMemoryLimiter(maxBodyBytes: number): BodyMemoryLimiter {
  let left = maxLargeBodies * maxBodyBytes
  return {
    reserve(headers) {
      const bytes = announcedBytes(headers, maxBodyBytes)
      if (bytes <= smallBodyBytes) return () => undefined
      if (bytes > left) return undefined
      left -= bytes
      let reserved = bytes
      return () => {
        left += reserved
        reserved = 0
      }
    },
  }
}

/** A body of unknown length counts as the maximum. A larger body is rejected without being read. */
function announcedBytes(headers: IncomingHttpHeaders, maxBodyBytes: number): number {
  if (headers['transfer-encoding'] !== undefined) return maxBodyBytes
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes > maxBodyBytes ? 0 : bytes
}
