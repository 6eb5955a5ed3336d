/**
 * How much memory the bodies of strangers may fill together: webhooks are read before their platform can check who sent
 * them. Small bodies are always let in, so that large ones cannot keep the usual ones out.
 */
import type { IncomingHttpHeaders } from 'node:http'

export interface BodyMemoryLimiter {
  /** Takes room for a body as its headers announce it; undefined when there is none. The function gives it back, once. */
  reserve(headers: IncomingHttpHeaders): (() => void) | undefined
}

const smallBodyBytes = 64 * 1024
/** So many bodies of the largest size at once. */
const maxLargeBodies = 4

/** @param maxBodyBytes the largest body that is read at all */
export function createBodyMemoryLimiter(maxBodyBytes: number): BodyMemoryLimiter {
  let left = maxLargeBodies * maxBodyBytes
  return {
    reserve(headers) {
      const bytes = announcedBytes(headers, maxBodyBytes)
      if (bytes <= smallBodyBytes) return () => undefined
      if (bytes > left) return undefined
      left -= bytes
      let taken = bytes
      return () => {
        left += taken
        taken = 0
      }
    },
  }
}

/** A body of unknown length may become the largest there is; one that is larger is refused without being read. */
function announcedBytes(headers: IncomingHttpHeaders, maxBodyBytes: number): number {
  if (headers['transfer-encoding'] !== undefined) return maxBodyBytes
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes > maxBodyBytes ? 0 : bytes
}
