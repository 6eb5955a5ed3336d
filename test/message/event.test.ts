import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseCommand } from '../../src/message/event.ts'

const commandOf = (text: string) => parseCommand({ text })

test('a slash and a word is a command, with what follows as its arguments', () => {
  assert.deepEqual(commandOf('/stop'), { name: 'stop', args: '' })
  assert.deepEqual(commandOf('  /New  my taxes  '), { name: 'new', args: 'my taxes' })
  assert.deepEqual(commandOf('/title\nline one\nline two'), { name: 'title', args: 'line one\nline two' })
})

test('the name of the bot after a command is removed', () => {
  assert.deepEqual(commandOf('/stop@my_bot now'), { name: 'stop', args: 'now' })
})

test('paths, single slashes and plain text are not commands', () => {
  for (const text of [
    '',
    ' ',
    '/',
    '/ stop',
    '//',
    '/etc/hosts',
    '/etc/hosts is odd',
    'stop',
    'please /stop',
    '/@bot',
  ]) {
    assert.equal(commandOf(text), null, text)
  }
})

test('dashes that phones insert for two hyphens become hyphens again', () => {
  assert.equal(commandOf('/run —force ——deep a–b')?.args, '--force --deep a-b')
})

test('without gateway control a leading slash is text', () => {
  assert.equal(parseCommand({ text: '/stop', allowGatewayControl: false }), null)
  assert.equal(parseCommand({ text: '/stop', allowGatewayControl: true })?.name, 'stop')
})

test('no text makes the command parser throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string()), (text) => {
      const parsed = commandOf(`/${text}`)
      if (parsed === null) return
      assert.equal(parsed.name, parsed.name.toLowerCase())
      assert.doesNotMatch(parsed.name, /[\s/@]|^$/)
    }),
    { numRuns: 200 },
  )
})
