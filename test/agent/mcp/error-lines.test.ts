/**
 * Which lines of a server that cannot start reach its owner.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createErrorLines } from '../../../src/agent/mcp/error-lines.ts'
import { toStartFailure } from '../../../src/agent/mcp/sdk-errors.ts'
import { silentLog } from '../../../src/lib/log.ts'

const summaryOf = (text: string) => {
  const lines = createErrorLines('test', silentLog)
  for (const line of text.split('\n')) lines.add(line)
  return lines.summary()
}

const nodeTrace = `node:internal/modules/cjs/loader:1386
  throw err;
  ^

Error: Cannot find module '/srv/server.js'
    at Function._resolveFilename (node:internal/modules/cjs/loader:1383:15)
    at defaultResolveImpl (node:internal/modules/cjs/loader:1025:19)
    at node:internal/main/run_main_module:36:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v24.21.0`

const pythonTrace = `Starting
Traceback (most recent call last):
  File "/srv/server.py", line 3, in <module>
    import notes
  File "/srv/notes.py", line 9, in <module>
    import httpx
ModuleNotFoundError: No module named 'httpx'`

test('the reason is named when a script in Node dies with a stack trace', () => {
  const text = summaryOf(nodeTrace)
  assert.match(text, /Error: Cannot find module '\/srv\/server\.js'/)
  assert.doesNotMatch(text, /_resolveFilename|throw err|Node\.js v/)
})

test('the reason is named when a script in Python dies with a traceback', () => {
  assert.match(summaryOf(pythonTrace), /^ It wrote: Starting \| .*ModuleNotFoundError: No module named 'httpx'$/)
})

test('the first line is named, however much is written after it', () => {
  const first = 'bwrap: Creating new namespace failed: Operation not permitted'
  const text = summaryOf(`${first}\n${'more\n'.repeat(500)}last`)
  assert.equal(text, ` It wrote: ${first} | … | more | last`)
})

test('a few lines are named as they are, and none without words', () => {
  assert.equal(summaryOf('one\n\ntwo\nthree'), ' It wrote: one | two | three')
  assert.equal(summaryOf('one'), ' It wrote: one')
  assert.equal(summaryOf(''), '')
})

test('a server that cannot start in its sandbox is told with the sandbox and the first line', () => {
  const { message } = toStartFailure('notes', new Error('it ended'), {
    sandbox: 'bwrap',
    said: summaryOf(`bwrap: no permission\n${'x'.repeat(500)}\n${'y'.repeat(500)}\n${'z'.repeat(500)}`),
  })
  assert.match(message, /It wrote: bwrap: no permission/)
  assert.match(message, /sandbox \(bwrap\).*mcp_servers\.notes\.sandbox: off/)
  assert.doesNotMatch(toStartFailure('notes', new Error('it ended')).message, /sandbox/)
})
