import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSilence, isSilenceNarration, mayBecomeNarration } from '../../src/message/silence.ts'

const narrations = ['*(silent)*', '🔇', '.', '…', '...', '_Silence._', '(no response)', '[ no reply ]', ' 🔇\n']

test('a reply that only says that it is silent is recognized, and each of its beginnings', () => {
  for (const text of narrations) {
    assert.ok(isSilenceNarration(text), text)
    const characters = [...text.trimStart()]
    for (let length = 1; length <= characters.length; length++) {
      const start = characters.slice(0, length).join('')
      assert.ok(mayBecomeNarration(start), JSON.stringify(start))
    }
  }
})

test('an answer about silence, a list and a long row of dots are no silence', () => {
  for (const text of [
    '',
    ' ',
    'Silence',
    'silent',
    '(silently)',
    '*(silent)* ok',
    '- one',
    '.env',
    '. one',
    '.'.repeat(65),
  ])
    assert.equal(isSilenceNarration(text), false, text)
  for (const start of ['- o', '.e', '**Silver', '(sir', '*one']) assert.equal(mayBecomeNarration(start), false, start)
})

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
