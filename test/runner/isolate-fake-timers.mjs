/**
 * Separates the fake timers of one test from everything else in its process. While `mock.timers` is enabled, code that an
 * earlier file left behind, such as the closing socket of a `fetch`, clears timers that are real or belong to the fake timers
 * of an earlier test. Node then removes whichever fake timer has their former place in its queue. Here the fake
 * `clearTimeout` receives only timers that are pending in the same test.
 */
import { mock } from 'node:test'

const prototype = Object.getPrototypeOf(mock.timers)
const { enable } = prototype

prototype.enable = function (options) {
  const { clearTimeout: clearReal } = globalThis
  enable.call(this, options)
  const { setTimeout: set, clearTimeout: clear } = globalThis
  if (clear === clearReal) return
  const pending = new WeakSet()
  globalThis.setTimeout = (callback, ms, ...args) => {
    const fire = () => {
      pending.delete(timer)
      callback(...args)
    }
    const timer = set(fire, ms)
    pending.add(timer)
    return timer
  }
  globalThis.clearTimeout = (timer) => {
    if (!pending.delete(timer)) clearReal(timer)
    else clear(timer)
  }
}
