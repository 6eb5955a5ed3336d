/**
 * What a plugin does in a way that cannot be used: said once, not at every turn.
 */
import type { Logger } from '../lib/log.ts'
import { createLruCache } from '../lib/lru-cache.ts'

export type WarnOnce = (plugin: string, sentence: string) => void

/** Complaints that are remembered. */
const maxRemembered = 500

export function createWarnOnce(log: Logger): WarnOnce {
  const warned = createLruCache<true>(maxRemembered)
  return (plugin, sentence) => {
    if (warned.has(sentence)) return
    warned.set(sentence, true)
    log.warn({ plugin }, sentence)
  }
}
