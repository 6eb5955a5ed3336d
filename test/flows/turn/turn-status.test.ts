import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { DisplaySettings } from '../../../src/flows/turn/config.ts'
import { createToolLines, createTurnStatusDisplay } from '../../../src/flows/turn/turn-status.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type Capabilities, flushEventLoop, openOutbox } from '../../outbox/support.ts'

const target = { platform: 'fake', account: 'default', chatId: 'chat' }
const call = (callId: string, tool = 'terminal', label = `run ${callId}`) => ({ callId, tool, label, arguments: '{}' })
const redact = (text: string) => text.replaceAll('hunter2', '***')

function openDisplay(t: TestContext, settings: Partial<DisplaySettings> = {}, capabilities: Capabilities = {}) {
  const bench = openOutbox(t, capabilities)
  const display = createTurnStatusDisplay(bench.outbox, redact, silentLog, {
    turnId: 'turn-1',
    target,
    settings: { toolProgress: 'all', grouping: 'accumulate', previewLength: 0, cleansUp: false, ...settings },
  })
  const advance = async (ms: number) => {
    await flushEventLoop()
    bench.time.advance(ms)
    await flushEventLoop()
  }
  return { ...bench, display, advance, shown: () => [...bench.sender.shown.values()] }
}

test('the tools between two texts share one message, which says how each of them ended', async (t) => {
  const { display, advance, shown, sender } = openDisplay(t)
  display.toolStarted(call('1'))
  await advance(500)
  assert.deepEqual(shown(), ['⏳ **terminal** `run 1`'])
  display.toolEnded('1', true, 'fine')
  display.toolStarted(call('2', 'read_file', 'notes.md'))
  display.toolEnded('2', false, 'no such file')
  await advance(1_000)
  assert.deepEqual(shown(), ['✓ **terminal** `run 1`\n✗ **read_file** `notes.md`'])
  display.textShown()
  display.toolStarted(call('3'))
  await advance(1_000)
  display.end()
  await advance(1_000)
  assert.deepEqual(shown().at(-1), '⏹ **terminal** `run 3`')
  assert.equal(sender.calls.filter(({ op }) => op === 'send').length, 2)
})

test('mode new counts the calls of a tool, and verbose shows arguments and results', () => {
  const brief = createToolLines('new', redact)
  for (const id of ['1', '2', '3']) brief.start(call(id))
  brief.end('1', true, '')
  assert.equal(brief.text(), '⏳ **terminal** ×3')
  for (const id of ['2', '3']) brief.end(id, true, '')
  brief.start(call('4', 'todo'))
  assert.equal(brief.text(), '✓ **terminal** ×3\n⏳ **todo**')
  const verbose = createToolLines('verbose', redact)
  verbose.start({ callId: '1', tool: 'lookup', label: '', arguments: '{"key":"hunter2"}' })
  verbose.end('1', true, 'found\nit')
  assert.equal(verbose.text(), '✓ **lookup** `{"key":"***"}`\n→ `found it`')
})

test('lines are short, show no secret and contain no markup of a tool', () => {
  const lines = createToolLines('all', redact)
  lines.start(call('1', 'term`inal**', `echo hunter2 \`@everyone\`\u202e ${'x'.repeat(500)}`))
  const text = lines.text()
  assert.ok(text.startsWith("⏳ **terminal** `echo *** '@everyone'\\u202e xxx"))
  assert.ok(text.length < 100)
  for (let id = 2; id < 100; id += 1) lines.start(call(String(id)))
  assert.ok(lines.text().length < 1_900)
  assert.match(lines.text(), /^… 87 earlier\n/)
})

test('with the grouping separate each call has a message, also where messages cannot be edited', async (t) => {
  const { display, advance, shown } = openDisplay(t, { grouping: 'separate' }, { edit: false })
  display.toolStarted(call('1'))
  display.toolStarted(call('2'))
  await advance(500)
  assert.deepEqual(shown().sort(), ['🔧 **terminal** `run 1`', '🔧 **terminal** `run 2`'])
})

test('where messages cannot be edited no message accumulates', async (t) => {
  const { display, advance, shown } = openDisplay(t, {}, { edit: false })
  display.toolStarted(call('1'))
  await advance(500)
  display.end()
  await advance(1_000)
  assert.deepEqual(shown(), [])
})

test('with cleanup_progress the messages about tools are removed when the turn ends, not before', async (t) => {
  const { display, advance, shown } = openDisplay(t, { cleansUp: true }, { remove: true })
  display.toolStarted(call('1'))
  await advance(500)
  display.toolEnded('1', true, '')
  display.textShown()
  await advance(1_000)
  assert.equal(shown().length, 1)
  display.end()
  await advance(1_000)
  assert.deepEqual(shown(), [])
})

test('a long turn says what it does in one message, which does not outlive the turn', async (t) => {
  const { display, advance, shown, sender } = openDisplay(t, { toolProgress: 'off' }, { remove: true })
  display.toolStarted(call('1'))
  display.stillWorking(180_000)
  await advance(0)
  assert.deepEqual(shown(), ['⏳ Still working (3 min): **terminal** `run 1`'])
  display.toolEnded('1', true, '')
  display.stillWorking(360_000)
  await advance(1_000)
  assert.deepEqual(shown(), ['⏳ Still working (6 min)'])
  display.end()
  await advance(1_000)
  assert.deepEqual(shown(), [])
  assert.equal(sender.calls.filter(({ op }) => op === 'send').length, 1)
})

test('a resumed turn ends the messages of the attempt before it', async (t) => {
  const first = openDisplay(t)
  first.display.toolStarted(call('1'))
  await first.advance(500)
  first.crash()
  const later = openOutbox(t, { path: first.path, time: first.time, sender: first.sender })
  await later.outbox.recover()
  const display = createTurnStatusDisplay(later.outbox, redact, silentLog, {
    turnId: 'turn-1',
    target,
    settings: { toolProgress: 'all', grouping: 'accumulate', previewLength: 0, cleansUp: false },
  })
  display.toolStarted(call('2'))
  for (let turn = 0; turn < 4; turn += 1) await first.advance(1_000)
  assert.deepEqual(first.shown(), ['↻ The gateway restarted here.', '⏳ **terminal** `run 2`'])
})

test('a line about a tool is as long as the configuration says', () => {
  const lengthOf = (mode: 'all' | 'verbose', configured: number) => {
    const lines = createToolLines(mode, (text) => text, configured)
    lines.start({ callId: '1', tool: 'terminal', label: 'x'.repeat(600), arguments: '{}' })
    return [...lines.text()].filter((character) => character === 'x').length
  }
  assert.ok(lengthOf('all', 20) <= 20 && lengthOf('verbose', 20) <= 20)
  assert.ok(lengthOf('all', 0) <= 60 && lengthOf('all', 0) > 50)
  assert.ok(lengthOf('all', 500) > 480)
})
