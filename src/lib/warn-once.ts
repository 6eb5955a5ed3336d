/**
 * Logs a condition once per key, so that a condition that persists does not fill the log.
 */

import { createLruCache } from './cache.ts'
import type { LogEventFields, Logger } from './log.ts'

/** Logs the first message of a key as a warning and its repetitions at level debug. */
export type WarnOnce = (key: string, fields: LogEventFields, message: string) => void

/** @param maxKeys number of keys to remember. A key that was not used for long is logged as a warning again. */
export function createWarnOnce(log: Logger, maxKeys = 500): WarnOnce {
  const warned = createLruCache<true>(maxKeys)
  return (key, fields, message) => {
    const isRepeated = warned.get(key) === true
    warned.set(key, true)
    log[isRepeated ? 'debug' : 'warn'](fields, message)
  }
}
