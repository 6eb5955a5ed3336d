/**
 * The process of a shard: `node shard-process.mjs <test files>` runs the files as `node --test --test-isolation=none` does,
 * and prints the lines of the reporter on stdout.
 *
 * The runner of Node finds the test of an uncaught error with an async hook, which runs code and registers a weak handle
 * for each promise. That takes a sixth of the CPU time of our tests. Here an `AsyncLocalStorage` carries the id of the
 * test, and the hook sees tests only. The runner reads the two functions once, when `node:test` is loaded. Afterwards
 * they are restored: tests and the gateway see the originals.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import process from 'node:process'

const hooks = process.getBuiltinModule('node:async_hooks')
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
const { run } = await import('node:test')
Object.assign(hooks, { createHook, executionAsyncId })
syncBuiltinESMExports()

await import('./isolate-fake-timers.mjs')
const { default: report } = await import('./reporter.mjs')
const events = run({ files: process.argv.slice(2), isolation: 'none' })
events.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1
})
events.compose(report).pipe(process.stdout)
