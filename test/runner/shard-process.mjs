/**
 * The process of a shard: `node shard-process.mjs <test files>` runs the files as `node --test --test-isolation=none` does,
 * and prints JSON lines on stdout: those of the reporter, one for each test that begins, and one with its cost when the next
 * one begins. It reads a list of tests that do not run from its input.
 * A test without a limit of its own fails after 60 s.
 */
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers'
import { cpuMs } from './cpu-time.mjs'
import { importTestRunner } from './import-test-runner.mjs'

const testLimitMs = 60_000

/** What the tests left open has this long after the last one to close by itself. */
const graceMs = 30_000

const { beforeEach, run } = await importTestRunner()
await import('./isolate-fake-timers.mjs')
const { default: report } = await import('./reporter.mjs')

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
let current = { test: undefined, cpuMs: cpuMs(), at: performance.now() }

const files = process.argv.slice(2)
const toPattern = (name) => new RegExp(`^${RegExp.escape(name)}$`)
/** @type {string[]} */
const leftOut = JSON.parse(await text(process.stdin))
const testSkipPatterns = leftOut.map(toPattern)
const events = run({
  files,
  isolation: 'none',
  timeout: testLimitMs,
  ...(leftOut.length === 0 ? {} : { testSkipPatterns }),
})
// After `run`, which creates the root that has this hook. The hook knows for which file a helper registered a test; an
// event names the file of the helper.
beforeEach(({ fullName, filePath }) => {
  beginTest({ file: filePath, name: fullName })
  print({ type: 'start', name: fullName, file: filePath })
})
events.on('test:summary', ({ success }) => {
  beginTest(undefined)
  print({ type: 'end' })
  if (!success) process.exitCode = 1
  setTimeout(exitWithOpenHandles, graceMs).unref()
})
events.compose(report).pipe(process.stdout)

/** Prints the cost of the test before. */
function beginTest(test) {
  const before = current
  current = { test, cpuMs: cpuMs(), at: performance.now() }
  if (before.test === undefined) return
  print({ type: 'cost', ...before.test, cpuMs: current.cpuMs - before.cpuMs, ms: current.at - before.at })
}

/** Without it, an open handle would keep the process alive for ever. */
function exitWithOpenHandles() {
  const open = process.getActiveResourcesInfo().join(', ')
  print({
    type: 'problem',
    text: `The tests of a part have ended, but its process has not. Open: ${open}. Files: ${files.join(' ')}`,
  })
  process.exit(1)
}
