/**
 * Kills the gateway while a background task runs. Its reply arrives, and no duplicate is sent without a label.
 */
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { testChatGateway } from './chat-gateway.ts'

/** The task is stored, but its hook has no response yet; the task has ended, but its reply was not sent. More: `scenario.ts`. */
const points = ['inbox:committed', 'turn:finished']

describe('a background task survives a crash', { concurrency: 2 }, () => {
  for (const name of points) test(`killed at ${name}`, (t) => testKill(t, name))
})

async function testKill(t: TestContext, point: string): Promise<void> {
  const { home, chat, gateway, untilSent } = await testChatGateway(t, () => ({ text: 'All is well.', delayMs: 1 }))
  await writeFile(join(home, 'BOOT.md'), 'Check everything.')
  gateway.start(point)
  await gateway.killed()
  // Without BOOT.md the next start creates no task, so the reply belongs to the first one.
  await rm(join(home, 'BOOT.md'))
  await gateway.restart()
  await untilSent('the reply', (messages) => messages.some(({ chat: name }) => name === 'home'))
  await gateway.stop()
  assert.ok(chat.messages.every(({ text }) => text.endsWith('All is well.')))
  const unlabelled = chat.messages.filter(({ text }) => !text.includes('May be a duplicate'))
  assert.ok(unlabelled.length <= 1, JSON.stringify(chat.messages))
}
