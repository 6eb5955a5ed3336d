import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecordingContext } from '../kit/recording-context.ts'

test('an adapter that was written for 0.1 finds each member of its context under the old name', () => {
  const { context } = createRecordingContext()
  const { connection, catchUp, turns, chats, questions, menu, gateway, rateLimited } = context
  const pairs = [
    [context.press, questions.press],
    [context.marks, catchUp.cursors],
    [context.commands, menu.commands],
    [context.paced, rateLimited],
    [context.outcome, turns.waitForResult],
    [context.stop, turns.stop],
    [context.history, chats.history],
    [context.health, connection.health],
    [context.refused, connection.refused],
    [context.received, connection.received],
    [context.info, gateway.info],
  ]
  for (const [old, current] of pairs) assert.equal(old, current)
  const sameNames = ['platform', 'account', 'options', 'log', 'home', 'clock', 'accept', 'change', 'route'] as const
  for (const name of sameNames) assert.notEqual(context[name], undefined, name)
})
