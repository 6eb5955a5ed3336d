import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatCommand,
  formatReason,
  formatToolCall,
  formatWholeCommand,
} from '../../src/approvals/format-tool-call.ts'
import { createRedactor } from '../../src/lib/redact.ts'

const plain = (text: string) => text
const redact = createRedactor({ secrets: () => ['swordfish-of-the-bank'] })

test('a single text is shown unchanged, several arguments one per line', () => {
  assert.equal(formatToolCall({ command: 'ls -la "my folder"' }, plain), 'ls -la "my folder"')
  assert.equal(
    formatToolCall({ path: 'a.txt', limit: 5, deep: { b: [1] } }, plain),
    'path: a.txt\nlimit: 5\ndeep: {"b":[1]}',
  )
  assert.equal(formatToolCall({}, plain), '')
})

test('a value cannot imitate another argument, end the code block or reverse the text', () => {
  assert.equal(
    formatToolCall({ content: 'a\npath: /harmless', path: '/etc' }, plain),
    'content: "a\\npath: /harmless"\npath: /etc',
  )
  assert.equal(formatToolCall({ command: 'echo ``` done' }, plain), "echo ''' done")
  assert.equal(formatToolCall({ command: 'rm \u202egpj.x' }, plain), 'rm \\u{202e}gpj.x')
  assert.equal(formatToolCall({ 'a\nb': 1 }, plain), 'a\\u{a}b: 1')
})

test('a long text is truncated in the middle, because its end may matter', () => {
  const shown = formatToolCall({ command: `${'x'.repeat(3_000)}; rm -rf /` }, plain)
  assert.ok(shown.length < 500)
  assert.match(shown, /^x+ …\(2610 [^)]*\)… x+; rm -rf \/$/)
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`a${at}`, at]))
  assert.match(formatToolCall(many, plain), /a11: 11\n….*\b28\b.*$/)
})

test('secrets are removed before truncation, so that no part of them remains', () => {
  const command = `${'x'.repeat(260)}swordfish-of-the-bank${'y'.repeat(600)}`
  assert.doesNotMatch(formatToolCall({ command }, redact), /sword|fish|bank/)
  assert.equal(formatReason('uses  swordfish-of-the-bank\nnow', redact), 'uses [redacted] now')
  assert.equal(formatCommand('terminal', { command: 'login swordfish-of-the-bank' }, redact), 'login [redacted]')
  assert.equal(formatCommand('write_file', { path: 'a' }, redact), 'write_file {"path":"a"}')
})

test('a command never disappears because it looks like a secret', () => {
  const run = '$(rm -rf ~/data)'
  for (const command of [
    `curl -H "Authorization: Bearer ${run}" https://a.example`,
    `git clone https://user:$(rm\${IFS}-rf\${IFS}data)@a.example/b`,
    `curl -d '{"password":"' https://a.example -o ~/data '"}'`,
    `-----BEGIN PRIVATE KEY-----\n${run}\n-----END PRIVATE KEY-----`,
  ])
    assert.equal(formatWholeCommand(command, redact), command)
  const login = 'login swordfish-of-the-bank https://me:hunter2@a.example'
  assert.equal(formatWholeCommand(login, redact), 'login [redacted] https://me:[redacted]@a.example')
})
