/**
 * Tells of what plugins do wrong: the first failure of a kind as a warning, its repeats for those who debug.
 */
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { createRecent } from '../lib/recent.ts'

export interface Failures {
  /** `who` failed `doing` something; `outcome` says how the call went on. Never throws. */
  tell(who: Culprit, doing: string, error: unknown, outcome: string): void
}

export interface Culprit {
  readonly name: string
  readonly plugin: string | undefined
}

const remembered = 1_000

export function createFailures(log: Logger): Failures {
  const known = createRecent<true>(remembered)
  return {
    tell({ name, plugin }, doing, error, outcome) {
      const key = JSON.stringify([plugin, name, doing, messageOf(error)])
      const level = known.has(key) ? 'debug' : 'warn'
      known.set(key, true)
      log[level](
        { plugin, name, point: doing, err: error },
        `${nameOf({ name, plugin })} failed in ${doing}; ${outcome}`,
      )
    },
  }
}

/** For people: who it was. */
export function nameOf({ name, plugin }: Culprit): string {
  return plugin === undefined ? `"${name}"` : `"${name}" of the plugin "${plugin}"`
}
