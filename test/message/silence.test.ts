import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSilence } from '../../src/message/silence.ts'

test('a reply that consists only of the token is silent, in any spelling', () => {
  for (const text of [
    '[SILENT]',
    ' [silent]\n',
    '[ Silent ]',
    'SILENT',
    'silent',
    'NO_REPLY',
    'no_reply\n',
    'NO REPLY',
    'No\n reply',
    '[静默]',
    '沉默',
    ' [ 沉默 ]\n',
    '静默',
  ]) {
    assert.equal(isSilence(text), true, JSON.stringify(text))
  }
})

test('a reply with any other text is not silent', () => {
  for (const text of [
    '',
    ' ',
    'All is well. [SILENT]',
    '[SILENT] The disk is full.',
    '[SILENT][SILENT]',
    'silently',
    'NOREPLY',
    'no-reply',
    '[NO_REPLY]',
    '[SILENT',
    'SILENT]',
    '`[SILENT]`',
    '保持沉默',
    '[静默',
    '今天没有变化。[静默]',
  ]) {
    assert.equal(isSilence(text), false, JSON.stringify(text))
  }
})
