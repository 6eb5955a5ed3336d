/**
 * Message and stack of a thrown value. Never throws, even for values with getters and proxies.
 */

/** The gateway truncates longer texts. */
const maxChars = 10_000

/** `TypeError: no such chat` */
export function messageOf(thrown) {
  return readSafely(
    () => {
      if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`
      return `it threw ${JSON.stringify(thrown) ?? typeof thrown}`
    },
    `it threw a value of type ${typeof thrown} that cannot be read`,
  )
}

/** '' without a stack. */
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
