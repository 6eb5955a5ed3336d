import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { openTui } from '../../../src/cli/tui.ts'
import { createTestContext, homeWith, runInProcess, startDaemon } from '../../cli/support.ts'
import { findTerminalProblem, runHermesInTerminal, type TerminalProcess } from '../../kit/pseudo-terminal.ts'
import { tempHome } from '../../kit/temp-home.ts'

const problem = findTerminalProblem()
const onTerminal = { skip: problem ?? false }
const ctrlC = '\u0003'
const ctrlD = '\u0004'

function open(t: TestContext, home: string): TerminalProcess {
  const running = runHermesInTerminal({ args: ['--tui'], environment: { HOME: home, HERMES_HOME: home } })
  t.after(async () => {
    running.kill('SIGKILL')
    await running.exited
  })
  return running
}

/** The other screen is left, the cursor is shown, and pasting and the mouse are as before. */
function assertRestored(written: string): void {
  const end = written.slice(written.lastIndexOf('\u001b[?1049h'))
  for (const sequence of ['\u001b[?1049l', '\u001b[?25h', '\u001b[?2004l', '\u001b[?1006l'])
    assert.ok(end.lastIndexOf(sequence) > 0, JSON.stringify(sequence))
}

test('hermes --tui answers without a daemon, and leaves the terminal as it was', onTerminal, async (t) => {
  const { root } = homeWith(t)
  const running = open(t, root)
  await running.until(/● demo/)
  running.type('/status\r')
  await running.until(/Messages 0/)
  await running.until(/^(?![\s\S]*Working)/)
  running.type(ctrlC)
  await running.until(/again to leave/)
  running.type(ctrlC)
  assert.equal((await running.exited).exitCode, 0)
  assertRestored(running.written())
  assert.match(running.written(), /hermes --tui --session [\w-]+\r\n$/)
})

test('who leaves while the gateway starts leaves nothing behind', onTerminal, async (t) => {
  const { root } = homeWith(t)
  const running = open(t, root)
  await running.until(/starting/)
  running.type(ctrlD)
  assert.equal((await running.exited).exitCode, 0)
  assertRestored(running.written())
})

test('the end of the daemon is shown, and a signal gives the terminal back', onTerminal, async (t) => {
  const { root } = homeWith(t)
  const daemon = await startDaemon(t, root)
  const running = open(t, root)
  await running.until(/● demo/)
  daemon.child.kill('SIGKILL')
  await daemon.exited
  await running.until(/! connection lost, reconnecting/)
  process.kill(running.pid, 'SIGTERM')
  assert.equal((await running.exited).exitCode, 143)
  assertRestored(running.written())
})

test('without a terminal, or with one that cannot place text, hermes --tui says what to use instead', async (t) => {
  const { code, stderr } = await runInProcess(tempHome(t), ['--tui'])
  assert.equal(code, 2)
  assert.match(stderr, /hermes chat/)
  assert.match(stderr, /\(cli\/usage\)/)
  const context = createTestContext(tempHome(t), { terminal: 80, environment: { TERM: 'dumb' } })
  const dumb = { ...context, input: Object.assign(new PassThrough(), { isTTY: true as const }) }
  await assert.rejects(openTui(dumb, {}), { code: 'cli/usage', message: /hermes chat/ })
})
