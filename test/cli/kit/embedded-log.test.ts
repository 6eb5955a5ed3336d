import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEmbeddedLog } from '../../../src/cli/kit/embedded-log.ts'

function openLog() {
  const written: string[] = []
  let now = 0
  const log = createEmbeddedLog({ write: (text) => written.push(String(text)) > 0 }, () => now)
  const write = (entry: Record<string, unknown>) =>
    log.write(`${JSON.stringify({ level: 'warn', msg: 'm', ...entry })}\n`)
  return {
    written,
    write,
    warnings: log.warnings,
    retried: (turn: string) => write({ event: 'model.call_retried', turn, reason: 'host failed', leftMs: 90_000 }),
    pass(ms: number) {
      now += ms
    },
  }
}

test('the retries of a model call are reported at once, then every 15 seconds, and not again at the end', () => {
  const { written, retried, pass, warnings } = openLog()
  retried('one')
  assert.equal(written.length, 1)
  assert.match(written[0] ?? '', /^hermes: host failed\. .*1 min.*Ctrl-C.*\n$/)
  pass(14_999)
  retried('one')
  assert.equal(written.length, 1)
  pass(1)
  retried('one')
  assert.equal(written.length, 2)
  assert.deepEqual(warnings(), [])
})

test('the retries of the next question are reported at once', () => {
  const { written, retried } = openLog()
  retried('one')
  retried('two')
  assert.equal(written.length, 2)
})

test('the newest 20 warnings are kept', () => {
  const { write, warnings } = openLog()
  for (let number = 1; number <= 30; number++) write({ event: 'some.warning', msg: `warning ${number}` })
  write({ level: 'info', msg: 'information' })
  assert.deepEqual([warnings().length, warnings()[0], warnings().at(-1)], [20, 'warning 11', 'warning 30'])
})
