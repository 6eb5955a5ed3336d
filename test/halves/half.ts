/**
 * All tests in two processes at once: much of their time is waiting for processes, disks and time-outs, and that of the
 * one half is room for the other. Within a half everything shares one process, as with `--test-isolation=none`.
 */
import { globSync } from 'node:fs'
import process from 'node:process'
import { before } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What the first half takes; new folders are in the second. Both take about as long (`--test-reporter` tells). */
const first =
  /^test\/(agent|config|conformance|crash|docs|hooks|hosts|inbox|lib|middleware|outbox|property|proof|sessions|container|documentation)\b/

/** Registers the tests of one half, in the order of their names. */
export async function runHalf(which: 'first' | 'second'): Promise<void> {
  // From the first call on the runner knows whose child this is; a runner that a test starts must not believe to be one.
  before(() => undefined)
  delete process.env['NODE_TEST_CONTEXT']
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort()
  const chosen = files.filter((file) => first.test(file) === (which === 'first'))
  // As imports of one module they are all loaded before the first test begins.
  const imports = chosen.map((file) => `import ${JSON.stringify(pathToFileURL(`${root}${file}`).href)}\n`)
  await import(`data:text/javascript,${encodeURIComponent(imports.join(''))}`)
}
