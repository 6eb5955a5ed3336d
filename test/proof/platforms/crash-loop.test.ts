/**
 * The crash loop of the proof, on Slack alone: Slack stops repeating an event after a few lost connections, so the messages must
 * come from its history.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { withTimeout } from '../../../src/lib/timers.ts'
import { textOf } from '../delivery-counts.ts'
import { crashLoop } from './fault-scenarios.ts'
import { startSlackPlatform } from './slack.ts'
import { allChats } from './test-platform.ts'
import { createTestSystem } from './test-system.ts'

const timeoutMs = 60_000

test('kills during start-up lose no Slack message and keep their order', { timeout: 4 * timeoutMs }, async (t) => {
  const slack = await startSlackPlatform()
  const system = await createTestSystem([slack])
  t.after(() => system.close(false))
  await system.start()
  await system.waitUntilConnected()
  const first = allChats(slack.chats).map((chat) => system.log.send(slack, chat, 'plain').answered)
  assert.ok((await withTimeout(Promise.all(first), timeoutMs)).done)
  const end = await crashLoop.start(slack, system)
  await end()
  const { messages } = system.log
  for (const until = performance.now() + timeoutMs; performance.now() < until; await pause(50)) {
    if (system.acceptedTexts().length >= messages.length) break
  }
  const accepted = system.acceptedTexts()
  for (const chat of slack.chats.busy) {
    assert.deepEqual(
      accepted.filter((text) => text.includes(` ${chat}n`)),
      messages.filter((one) => one.chat === chat).map(textOf),
    )
  }
})
