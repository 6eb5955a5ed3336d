/**
 * Watching the callbacks of a plugin at work: which were called, how long they took, what they threw. For trying a plugin
 * out; otherwise callbacks are called without anything in between.
 */
import { messageOf } from '../lib/errors.ts'

export interface Firing {
  /** `hook`, `middleware`, `tool` … */
  readonly kind: string
  readonly name: string
  /** Until it returned, or until its promise settled. */
  readonly ms: number
  /** What it threw; null when all went well. */
  readonly error: string | null
}

/** A function that does the same as the callback and is told of. */
export type Observe = <Fn extends (...args: never[]) => unknown>(kind: string, name: string, callback: Fn) => Fn

/** @param now ms, as `performance.now` */
export function createObserver(told: (firing: Firing) => void, now: () => number): Observe {
  return (kind, name, callback) =>
    new Proxy(callback, {
      apply(target, self: unknown, args: unknown[]) {
        const begun = now()
        const end = (error: string | null) => told({ kind, name, ms: now() - begun, error })
        let result: unknown
        try {
          result = Reflect.apply(target, self, args)
        } catch (error) {
          end(messageOf(error))
          throw error
        }
        if (result instanceof Promise) {
          result.then(
            () => end(null),
            (error: unknown) => end(messageOf(error)),
          )
        } else end(null)
        return result
      },
    })
}
