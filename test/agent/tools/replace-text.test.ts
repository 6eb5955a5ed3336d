import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replaceText } from '../../../src/agent/support/replace-text.ts'

const replaced = (text: string, search: string, replacement: string, all = false) => {
  const result = replaceText({ text, search, replacement, all })
  return result.ok ? result.text : result
}

test('wrong indentation is corrected', () => {
  const text = 'class A {\n    run() {\n        return 1\n    }\n}\n'
  assert.equal(
    replaced(text, 'run() {\n    return 1\n}', 'run() {\n    return 2\n}'),
    'class A {\n    run() {\n        return 2\n    }\n}\n',
  )
  assert.equal(replaced('a\nb\n', '    a\n    b', '    c\n    d'), 'c\nd\n')
})

test('differences in tabs and spaces are ignored', () => {
  assert.equal(
    replaced('if (a)  {\n\tgo( )\n}\n', 'if (a) {\n  go( )\n}', 'if (b) {\n  go( )\n}'),
    'if (b) {\n  go( )\n}\n',
  )
})

test('an exact match takes precedence over a similar one', () => {
  assert.equal(replaced('  a\na\n', 'a\n', 'b\n', true), '  b\nb\n')
  assert.equal(replaced('x  y\nx y\n', 'x y', 'z'), 'x  y\nz\n')
})

test('several similar matches are replaced only with replace_all', () => {
  const refused = replaceText({ text: 'a  b\n\na   b\n', search: 'a b', replacement: 'c', all: false })
  assert.equal(!refused.ok && refused.code, 'ambiguous')
  assert.match(refused.ok ? '' : refused.reason, /1, 3/)
  assert.equal(replaced('a  b\n\na   b\n', 'a b', 'c', true), 'c\n\nc\n')
})

test('the line breaks of the file are kept', () => {
  assert.equal(replaced('a\r\nb\r\nc\r\n', 'a\nb', 'x\ny'), 'x\r\ny\r\nc\r\n')
  assert.equal(replaced('  a\r\n  b\r\n', 'a\nb', 'x\ny'), '  x\r\n  y\r\n')
})

test('removing a line leaves no empty line', () => {
  assert.equal(replaced('a\n  b\nc\n', ' b ', ''), 'a\nc\n')
})

test('a search text of spaces matches nothing', () => {
  const result = replaceText({ text: 'a\n\nb\n', search: '   ', replacement: 'x', all: false })
  assert.equal(!result.ok && result.code, 'not_found')
})

test('similar lines that repeat are found without overlaps', () => {
  assert.equal(replaced(' a\n a\n b\n a\n a\n a\n b\n', 'a\na\nb', 'c', true), ' c\n a\n c\n')
})

test('a replacement that would make the file huge is refused', () => {
  const request = { text: 'a'.repeat(10_000), search: 'a', replacement: 'b'.repeat(10_000), all: true }
  const result = replaceText(request)
  assert.equal(!result.ok && result.code, 'too_large')
})
