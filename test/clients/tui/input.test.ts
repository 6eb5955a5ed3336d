import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createInputHistory } from '../../../src/clients/chat/input-history.ts'
import { asPaste, checkPaste, maxMessageChars } from '../../../src/clients/tui/paste.ts'
import { tempHome } from '../../kit/temp-home.ts'

test('messages are kept for the next start, readable for their owner alone', async (t) => {
  const file = join(tempHome(t), 'history')
  const history = createInputHistory(file)
  assert.deepEqual(history.read(), [])
  for (const text of ['one', 'two\nlines', 'two\nlines']) await history.add(text)
  appendFileSync(file, '"broken\n{}\n')
  await history.add('three')
  assert.deepEqual(createInputHistory(file).read(), ['one', 'two\nlines', 'three'])
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('a message that holds a key, and one that begins with a space, are not kept', async (t) => {
  const file = join(tempHome(t), 'history')
  const history = createInputHistory(file)
  for (const text of [`my key is ghp_${'a1B2'.repeat(9)}`, ' a secret plan', 'x'.repeat(5_000), 'kept'])
    await history.add(text)
  assert.deepEqual(history.read(), ['kept'])
})

test('the file of messages does not grow without an end', async (t) => {
  const file = join(tempHome(t), 'history')
  appendFileSync(file, Array.from({ length: 1_000 }, (_, index) => `"${index}"\n`).join(''))
  const history = createInputHistory(file)
  await history.add('newest')
  assert.equal(readFileSync(file, 'utf8').trimEnd().split('\n').length, 500)
  assert.deepEqual([history.read().length, history.read().at(-1)], [100, 'newest'])
})

test('a pasted text loses characters that a terminal obeys, and one that is too long is refused', () => {
  assert.equal(checkPaste('typed'), undefined)
  assert.deepEqual(checkPaste(asPaste('a\u009b2J\u001bb\u202ec\n世界')), { data: asPaste('a2Jbc\n世界') })
  assert.ok('data' in (checkPaste(asPaste('x'.repeat(maxMessageChars))) ?? {}))
  assert.ok('problem' in (checkPaste(asPaste('x'.repeat(maxMessageChars + 1))) ?? {}))
})
