/**
 * Kills the gateway around the message about the end of a background command. The message comes once; when it was not stored,
 * it says that the command was lost.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testChatGateway } from './chat-gateway.ts'

test('the end of a background command is reported once after a crash', { timeout: 120_000 }, async (t) => {
  const { chat, gateway, untilSent } = await testChatGateway(t, ({ body, lastUserText }) => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    const [, status] = /^\[Background command \w+, status: (\w+)/.exec(lastUserText) ?? []
    if (status !== undefined) return { text: `It is ${status}.`, delayMs: 1 }
    if (messages.at(-1)?.role === 'tool') return { text: 'It runs.', delayMs: 1 }
    const command = { command: 'true', background: true, notify_on_complete: true }
    return { toolCalls: [{ name: 'terminal', arguments: command }], delayMs: 1 }
  })
  const toldTo = (user: string) =>
    chat.messages.filter(({ chat, text, draft }) => chat === user && !draft && text.includes('It is '))
  async function checkTold(user: string, status: string): Promise<void> {
    await untilSent(`the report to ${user}`, () => toldTo(user).length > 0)
    const unlabelled = toldTo(user).filter(({ text }) => !text.includes('May be a duplicate'))
    assert.ok(unlabelled.length <= 1 && toldTo(user).every(({ text }) => text.includes(`It is ${status}.`)))
  }

  chat.say('ada', 'run it')
  gateway.start('command-report:before-store')
  await gateway.killed()
  await gateway.restart()
  await checkTold('ada', 'lost')

  await gateway.arm('command-report:stored')
  chat.say('bob', 'run it')
  await gateway.killed()
  await gateway.restart()
  await checkTold('bob', 'ended')
  await checkTold('ada', 'lost')
  await gateway.stop()
})
