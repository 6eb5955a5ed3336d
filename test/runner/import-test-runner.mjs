/**
 * Imports `node:test` with a cheaper way to find the test of an uncaught error.
 *
 * Node finds it with an async hook, which runs code and registers a weak handle for each promise. Without it the tests of
 * `middleware`, `outbox` and `property` take 0.73 of the processor time, and the stories 0.9 (Node 24.21, three alternating
 * runs). Here an `AsyncLocalStorage` carries the id of the test, and the hook sees tests only. The runner of Node reads the
 * two functions once, when it is loaded. Afterwards they are restored: tests and the gateway see the originals.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import process from 'node:process'

/** Where `shard.test.ts` has shown that errors are found. Other versions run with the hook of Node. */
const testedMajors = ['24']

/** @returns {Promise<typeof import('node:test')>} */
export async function importTestRunner() {
  const [major = ''] = process.versions.node.split('.')
  if (!testedMajors.includes(major)) return await import('node:test')
  const hooks = process.getBuiltinModule('node:async_hooks')
  const { createHook, executionAsyncId } = hooks
  replaceHooks(hooks)
  const runner = await import('node:test')
  Object.assign(hooks, { createHook, executionAsyncId })
  syncBuiltinESMExports()
  return runner
}

function replaceHooks(hooks) {
  const { createHook, executionAsyncId } = hooks
  const { runInAsyncScope } = AsyncResource.prototype
  /** The async id of the test that runs. */
  const testId = new AsyncLocalStorage()
  const tests = new WeakSet()
  hooks.createHook = ({ init }) =>
    createHook({
      trackPromises: false,
      init(asyncId, type, triggerAsyncId, resource) {
        if (type !== 'Test') return
        tests.add(resource)
        init?.(asyncId, type, triggerAsyncId, resource)
      },
    })
  hooks.executionAsyncId = () => testId.getStore() ?? executionAsyncId()
  AsyncResource.prototype.runInAsyncScope = function (callback, self, ...args) {
    if (!tests.has(this)) return runInAsyncScope.call(this, callback, self, ...args)
    const run = () => testId.run(this.asyncId(), () => Reflect.apply(callback, self, args))
    return runInAsyncScope.call(this, run)
  }
}
