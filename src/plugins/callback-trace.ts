/**
 * Traces the callbacks of a plugin: which were called, how long they took, what they threw. Used by `hermes plugins test`;
 * otherwise callbacks are called directly.
 */
import { messageOf } from '../lib/errors.ts'

export interface CallbackTrace {
  /** `hook`, `middleware`, `tool` … */
  readonly kind: string
  readonly name: string
  /** Until it returned, or until its promise settled. */
  readonly ms: number
  /** The message of the thrown error; null after a success. */
  readonly error: string | null
}

/** Wraps a callback, so that its calls are traced. */
export type ObserveCallback = <Fn extends (...args: never[]) => unknown>(kind: string, name: string, callback: Fn) => Fn

/** Runs code on behalf of a plugin, so that resources that it leaves open are attributed to the plugin. */
export type RunAsPlugin = <Value>(plugin: string, work: () => Value) => Value

/** Combines `observe` and `runAsPlugin` for the callbacks of one plugin; undefined without both. */
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
export function createCallbackObserver(onCall: (trace: CallbackTrace) => void, now: () => number): ObserveCallback {
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
