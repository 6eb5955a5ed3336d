/**
 * Tells of what plugins do wrong: the first failure of a kind as a warning, its repeats for those who debug.
 */
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { createLruCache } from '../lib/lru-cache.ts'

export interface FailureReporter {
  /** `who` failed `doing` something; `outcome` says how the call went on. Never throws. */
  report(who: ErrorOrigin, doing: string, error: unknown, outcome: string): void
}

export interface ErrorOrigin {
  readonly name: string
  readonly plugin: string | undefined
}

const maxRemembered = 1_000

export function createFailureReporter(log: Logger): FailureReporter {
  const known = createLruCache<true>(maxRemembered)
  return {
    report({ name, plugin }, doing, error, outcome) {
      const key = JSON.stringify([plugin, name, doing, messageOf(error)])
      const level = known.has(key) ? 'debug' : 'warn'
      known.set(key, true)
      log[level](
        { plugin, name, point: doing, err: error },
        `${describeOrigin({ name, plugin })} failed in ${doing}; ${outcome}`,
      )
    },
  }
}

/** For people: who it was. */
export function describeOrigin({ name, plugin }: ErrorOrigin): string {
  return plugin === undefined ? `"${name}"` : `"${name}" of the plugin "${plugin}"`
}
