/**
 * Warns about invalid behaviour of a plugin once, not at every turn.
 */
import type { Logger } from '../lib/log.ts'
import { createWarnOnce as createKeyedWarnOnce } from '../lib/warn-once.ts'

export type WarnOnce = (plugin: string, message: string) => void

export function createWarnOnce(log: Logger): WarnOnce {
  const warnOnce = createKeyedWarnOnce(log)
  return (plugin, message) => warnOnce(message, { event: 'plugin.misbehaved', plugin }, message)
}
