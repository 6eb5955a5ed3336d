/**
 * Watching the callbacks of a plugin at work: which were called, how long they took, what they threw. For trying a plugin
 * out; otherwise callbacks are called without anything in between.
 */
import { messageOf } from '../lib/errors.ts'

export interface CallbackTrace {
  /** `hook`, `middleware`, `tool` … */
  readonly kind: string
  readonly name: string
  /** Until it returned, or until its promise settled. */
  readonly ms: number
  /** What it threw; null when all went well. */
  readonly error: string | null
}

/** A function that does the same as the callback and is told of. */
export type ObserveCallback = <Fn extends (...args: never[]) => unknown>(kind: string, name: string, callback: Fn) => Fn

/** Runs something in the name of a plugin, so that what it leaves behind is known as the plugin's. */
export type RunAsPlugin = <Value>(plugin: string, work: () => Value) => Value

/** Every callback in the name of its plugin, beside whoever observes them. Undefined where nobody wants either. */
export function observeAsPlugin(
  plugin: string,
  observe: ObserveCallback | undefined,
  runAsPlugin: RunAsPlugin | undefined,
): ObserveCallback | undefined {
  if (runAsPlugin === undefined) return observe
  return (kind, name, callback) => {
    const owned = new Proxy(callback, {
      apply: (target, self: unknown, args: unknown[]): unknown =>
        runAsPlugin(plugin, (): unknown => Reflect.apply(target, self, args)),
    })
    return observe === undefined ? owned : observe(kind, name, owned)
  }
}

/** @param now ms, as `performance.now` */
export function createCallbackObserver(onCall: (firing: CallbackTrace) => void, now: () => number): ObserveCallback {
  return (kind, name, callback) =>
    new Proxy(callback, {
      apply(target, self: unknown, args: unknown[]) {
        const startedAt = now()
        const report = (error: string | null) => onCall({ kind, name, ms: now() - startedAt, error })
        let result: unknown
        try {
          result = Reflect.apply(target, self, args)
        } catch (error) {
          report(messageOf(error))
          throw error
        }
        if (result instanceof Promise) {
          result.then(
            () => report(null),
            (error: unknown) => report(messageOf(error)),
          )
        } else report(null)
        return result
      },
    })
}
