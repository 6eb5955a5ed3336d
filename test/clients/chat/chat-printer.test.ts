import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createChatPrinter } from '../../../src/clients/chat/chat-printer.ts'
import { stripControlCharacters } from '../../../src/lib/visible-text.ts'
import type { TurnResult } from '../../../src/message/turn-result.ts'

function screen(showAsides = false) {
  let text = ''
  const printer = createChatPrinter({
    write: (part) => {
      text += part
    },
    showAsides,
  })
  return { printer, text: () => text }
}

const outcome = (text: string, status: TurnResult['status'] = 'done'): TurnResult => ({
  status,
  text,
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
})
const draft = (text: string, id = 'd') => ({ type: 'draft' as const, id, text })
const message = (text: string, id = 'd') => ({ type: 'message' as const, id, kind: 'message' as const, text })

test('a growing reply is printed in pieces, and only once', () => {
  const { printer, text } = screen()
  printer.onSent()
  printer.onEvent(draft('Hel'))
  assert.equal(text(), 'Hel')
  printer.onEvent(draft('Hello wor'))
  assert.equal(text(), 'Hello wor')
  printer.onResult(outcome('Hello world.'))
  printer.onEvent(message('Hello world.'))
  assert.equal(text(), 'Hello world.\n')
})

test('the message and the result may arrive in either order, or only one of them', () => {
  for (const order of [['message', 'outcome'], ['outcome', 'message'], ['outcome']]) {
    const { printer, text } = screen()
    printer.onSent()
    for (const one of order) {
      if (one === 'message') printer.onEvent(message('The answer.'))
      else printer.onResult(outcome('The answer.'))
    }
    assert.equal(text(), 'The answer.\n', order.join(', '))
  }
})

test('the same reply to two messages is printed twice', () => {
  const { printer, text } = screen()
  for (const id of ['1', '2']) {
    printer.onSent()
    printer.onResult(outcome('ok'))
    printer.onEvent(message('ok', id))
  }
  assert.equal(text(), 'ok\nok\n')
})

test('a reply whose text changed at the end is printed completely, on a new line', () => {
  const { printer, text } = screen()
  printer.onSent()
  printer.onEvent(draft('The anser'))
  printer.onEvent(draft('The answer'))
  printer.onResult(outcome('The answer is 4.'))
  assert.equal(text(), 'The anser\nThe answer is 4.\n')
})

test('a late draft after the end has no effect', () => {
  const { printer, text } = screen()
  printer.onSent()
  printer.onEvent(draft('Hi'))
  printer.onResult(outcome('Hi.'))
  printer.onSent()
  printer.onEvent(draft('Hi. late'))
  assert.equal(text(), 'Hi.\n')
})

test('messages without a question are printed when they arrive', () => {
  const { printer, text } = screen()
  printer.onEvent(message('Reminder: tea', 'r1'))
  printer.onEvent(message('Reminder: tea', 'r2'))
  assert.equal(text(), 'Reminder: tea\nReminder: tea\n')
})

test('missed messages are printed unless they were printed before', () => {
  const { printer, text } = screen()
  const missed = (said: string) => ({ type: 'missed' as const, id: '', kind: 'message' as const, text: said })
  printer.onEvent(message('first'))
  printer.onEvent(missed('first'))
  printer.onEvent(missed('second'))
  printer.onSent()
  printer.onEvent(missed('third'))
  printer.onResult(outcome('third'))
  assert.equal(text(), 'first\nsecond\nthird\n')
})

test('tools are dim lines on a terminal, and the text continues between them', () => {
  const { printer, text } = screen(true)
  const tool = { tool: 'terminal', label: 'ls -l\n/tmp' }
  printer.onSent()
  printer.onEvent(draft('Let me look.'))
  printer.onEvent({ type: 'activity', activity: { kind: 'tool-started', ...tool } })
  printer.onEvent({
    type: 'activity',
    activity: { kind: 'tool-ended', tool: 'terminal', ok: true, summary: '2 lines' },
  })
  printer.onEvent({
    type: 'activity',
    activity: { kind: 'tool-ended', tool: 'terminal', ok: false, summary: 'exit 2' },
  })
  printer.onEvent(draft('Let me look.\n\nTwo files.'))
  printer.onResult(outcome('Let me look.\n\nTwo files.'))
  const dim = (line: string) => `\u001b[2m${line}\u001b[22m\n`
  const lines = [dim('· terminal ls -l /tmp'), dim('✓ terminal 2 lines'), dim('✗ terminal exit 2')]
  assert.equal(text(), `Let me look.\n${lines.join('')}\n\nTwo files.\n`)
})

test('without a terminal no status lines are printed', () => {
  const { printer, text } = screen(false)
  printer.onSent()
  printer.onEvent({ type: 'activity', activity: { kind: 'tool-started', tool: 'terminal', label: 'ls' } })
  printer.onEvent({ type: 'lost' })
  printer.onResult(outcome('', 'stopped'))
  assert.equal(text(), '')
})

test('text of the model cannot send control sequences to the terminal', () => {
  const { printer, text } = screen(true)
  printer.onSent()
  printer.onEvent({ type: 'activity', activity: { kind: 'tool-started', tool: 'x', label: '\u001b]0;owned\u0007' } })
  printer.onEvent(draft('\u001b[2J\u001b]52;c;ZXZpbA==\u0007clean\r\n\u009b31mtab\there\u202e'))
  printer.onResult(outcome('\u001b[2J\u001b]52;c;ZXZpbA==\u0007clean\r\n\u009b31mtab\there\u202e'))
  const own = text().replaceAll('\u001b[2m', '').replaceAll('\u001b[22m', '')
  assert.equal(own, '· x ]0;owned\n[2J]52;c;ZXZpbA==clean\n31mtab\there\n')
})

test('filtering a text in pieces gives the same result as filtering the whole text', () => {
  const piece = fc.constantFrom('a', 'é', '👋', '\n', '\t', '\r', '\0', '\u001b', '\u007f', '\u009b', '\u202e', '[31m')
  fc.assert(
    fc.property(fc.array(piece), fc.array(piece), (start, rest) => {
      const whole = stripControlCharacters([...start, ...rest].join(''))
      assert.ok(whole.startsWith(stripControlCharacters(start.join(''))))
      assert.doesNotMatch(whole, /(?![\n\t])\p{Cc}|\u202e/u)
    }),
    { seed: 7, numRuns: 200 },
  )
})
