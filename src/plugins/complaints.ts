/**
 * What plugins answer in a form that nobody understands: ignored, and said once.
 */
import type { Logger } from '../lib/log.ts'
import { createRecent } from '../lib/recent.ts'

/** Says once per plugin and place what was expected. */
export type Complain = (owner: string, point: string, expected: string) => void

/** Complaints that are remembered. */
const maxRemembered = 500

export function createComplaints(log: Logger): Complain {
  const told = createRecent<true>(maxRemembered)
  return (owner, point, expected) => {
    const key = `${owner}\n${point}\n${expected}`
    if (told.has(key)) return
    told.set(key, true)
    log.warn({ plugin: owner, hook: point }, `the answer of plugin ${owner} to ${point} is ignored: ${expected}`)
  }
}
