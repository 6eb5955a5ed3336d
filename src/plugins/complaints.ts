/**
 * What a plugin does in a way that cannot be used: said once, not at every turn.
 */
import type { Logger } from '../lib/log.ts'
import { createRecent } from '../lib/recent.ts'

export type Complain = (plugin: string, sentence: string) => void

/** Complaints that are remembered. */
const maxRemembered = 500

export function createComplaints(log: Logger): Complain {
  const told = createRecent<true>(maxRemembered)
  return (plugin, sentence) => {
    if (told.has(sentence)) return
    told.set(sentence, true)
    log.warn({ plugin }, sentence)
  }
}
