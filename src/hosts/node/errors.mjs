/**
 * What can be said of something that was thrown. Never throws, whatever getters and proxies it is made of.
 */

/** More than anybody reads; the gateway cuts what is longer. */
const maxChars = 10_000

/** `TypeError: no such chat` */
export function messageOf(thrown) {
  return readSafely(
    () => {
      if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`
      return `it threw ${JSON.stringify(thrown) ?? typeof thrown}`
    },
    `it threw something of type ${typeof thrown} that cannot be read`,
  )
}

/** '' where there is none. */
export function stackOf(thrown) {
  return readSafely(() => (thrown instanceof Error ? String(thrown.stack) : ''), '')
}

function readSafely(read, fallback) {
  try {
    return String(read()).slice(0, maxChars)
  } catch {
    return fallback
  }
}
