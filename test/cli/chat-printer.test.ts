import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createChatPrinter, printable } from '../../src/cli/chat-printer.ts'
import type { TurnOutcome } from '../../src/platforms/adapter.ts'

function screen(asides = false) {
  let text = ''
  const printer = createChatPrinter({
    write: (part) => {
      text += part
    },
    asides,
  })
  return { printer, text: () => text }
}

const outcome = (text: string, status: TurnOutcome['status'] = 'done'): TurnOutcome => ({
  status,
  text,
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
})
const draft = (text: string, id = 'd') => ({ type: 'draft' as const, id, text })
const message = (text: string, id = 'd') => ({ type: 'message' as const, id, kind: 'message' as const, text })

test('a growing reply is printed piece by piece, and once', () => {
  const { printer, text } = screen()
  printer.asked()
  printer.event(draft('Hel'))
  assert.equal(text(), 'Hel')
  printer.event(draft('Hello wor'))
  assert.equal(text(), 'Hello wor')
  printer.outcome(outcome('Hello world.'))
  printer.event(message('Hello world.'))
  assert.equal(text(), 'Hello world.\n')
})

test('it does not matter whether the message or the outcome comes first, or comes alone', () => {
  for (const order of [['message', 'outcome'], ['outcome', 'message'], ['outcome']]) {
    const { printer, text } = screen()
    printer.asked()
    for (const one of order) {
      if (one === 'message') printer.event(message('The answer.'))
      else printer.outcome(outcome('The answer.'))
    }
    assert.equal(text(), 'The answer.\n', order.join(', '))
  }
})

test('the same answer to two questions is printed twice', () => {
  const { printer, text } = screen()
  for (const id of ['1', '2']) {
    printer.asked()
    printer.outcome(outcome('ok'))
    printer.event(message('ok', id))
  }
  assert.equal(text(), 'ok\nok\n')
})

test('a reply that was rewritten at the end is printed whole on a line of its own', () => {
  const { printer, text } = screen()
  printer.asked()
  printer.event(draft('The anser'))
  printer.event(draft('The answer'))
  printer.outcome(outcome('The answer is 4.'))
  assert.equal(text(), 'The anser\nThe answer is 4.\n')
})

test('a stray draft after the end changes nothing', () => {
  const { printer, text } = screen()
  printer.asked()
  printer.event(draft('Hi'))
  printer.outcome(outcome('Hi.'))
  printer.asked()
  printer.event(draft('Hi. late'))
  assert.equal(text(), 'Hi.\n')
})

test('what is said without a question is printed as it comes', () => {
  const { printer, text } = screen()
  printer.event(message('Reminder: tea', 'r1'))
  printer.event(message('Reminder: tea', 'r2'))
  assert.equal(text(), 'Reminder: tea\nReminder: tea\n')
})

test('what was missed is printed unless it stands there already', () => {
  const { printer, text } = screen()
  const missed = (said: string) => ({ type: 'missed' as const, kind: 'message' as const, text: said })
  printer.event(message('first'))
  printer.event(missed('first'))
  printer.event(missed('second'))
  printer.asked()
  printer.event(missed('third'))
  printer.outcome(outcome('third'))
  assert.equal(text(), 'first\nsecond\nthird\n')
})

test('tools are dim lines on a terminal, and between them the text goes on', () => {
  const { printer, text } = screen(true)
  const tool = { tool: 'terminal', label: 'ls -l\n/tmp' }
  printer.asked()
  printer.event(draft('Let me look.'))
  printer.event({ type: 'activity', activity: { kind: 'tool-started', ...tool } })
  printer.event({ type: 'activity', activity: { kind: 'tool-ended', tool: 'terminal', ok: true, summary: '2 lines' } })
  printer.event({ type: 'activity', activity: { kind: 'tool-ended', tool: 'terminal', ok: false, summary: 'exit 2' } })
  printer.event(draft('Let me look.\n\nTwo files.'))
  printer.outcome(outcome('Let me look.\n\nTwo files.'))
  const dim = (line: string) => `\u001b[2m${line}\u001b[22m\n`
  assert.equal(text(), `Let me look.\n${dim('· terminal ls -l /tmp')}${dim('✗ terminal exit 2')}\n\nTwo files.\n`)
})

test('without a terminal there are no remarks', () => {
  const { printer, text } = screen(false)
  printer.asked()
  printer.event({ type: 'activity', activity: { kind: 'tool-started', tool: 'terminal', label: 'ls' } })
  printer.event({ type: 'lost' })
  printer.outcome(outcome('', 'stopped'))
  assert.equal(text(), '')
})

test('nothing that the model writes can command the terminal', () => {
  const { printer, text } = screen(true)
  printer.asked()
  printer.event({ type: 'activity', activity: { kind: 'tool-started', tool: 'x', label: '\u001b]0;owned\u0007' } })
  printer.event(draft('\u001b[2J\u001b]52;c;ZXZpbA==\u0007clean\r\n\u009b31mtab\there\u202e'))
  printer.outcome(outcome('\u001b[2J\u001b]52;c;ZXZpbA==\u0007clean\r\n\u009b31mtab\there\u202e'))
  const own = text().replaceAll('\u001b[2m', '').replaceAll('\u001b[22m', '')
  assert.equal(own, '· x ]0;owned\n[2J]52;c;ZXZpbA==clean\n31mtab\there\n')
})

test('filtering a text piece by piece gives the same as filtering it whole', () => {
  const piece = fc.constantFrom('a', 'é', '👋', '\n', '\t', '\r', '\0', '\u001b', '\u007f', '\u009b', '\u202e', '[31m')
  fc.assert(
    fc.property(fc.array(piece), fc.array(piece), (start, rest) => {
      const whole = printable([...start, ...rest].join(''))
      assert.ok(whole.startsWith(printable(start.join(''))))
      assert.doesNotMatch(whole, /(?![\n\t])\p{Cc}|\u202e/u)
    }),
    { seed: 7, numRuns: 200 },
  )
})
