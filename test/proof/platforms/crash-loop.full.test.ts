/**
 * The crash loop of the proof with few kills, on one platform alone: Slack stops delivering an event after a few lost
 * connections, and Discord delivers none again, so the messages must come from the history. `npm run proof` kills more often.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { withTimeout } from '../../../src/lib/timers.ts'
import { textOf } from '../delivery-counts.ts'
import { startDiscordPlatform } from './discord.ts'
import { startCrashLoop } from './fault-scenarios.ts'
import { startSlackPlatform } from './slack.ts'
import { allChats } from './test-platform.ts'
import { createTestSystem } from './test-system.ts'

const timeoutMs = 60_000

for (const [name, start] of [
  ['Slack', startSlackPlatform],
  ['Discord', startDiscordPlatform],
] as const) {
  test(`kills during start-up lose no message and keep their order on ${name}`, {
    timeout: 4 * timeoutMs,
  }, async (t) => {
    const platform = await start()
    const system = await createTestSystem([platform])
    t.after(() => system.close(false))
    await system.start()
    await system.waitUntilConnected()
    const first = allChats(platform.chats).map((chat) => system.log.send(platform, chat, 'plain').answered)
    assert.ok((await withTimeout(Promise.all(first), timeoutMs)).done)
    const end = await startCrashLoop(platform, system, [0.9, 1.2])
    await end()
    const { messages } = system.log
    for (const until = performance.now() + timeoutMs; performance.now() < until; await pause(50)) {
      if (system.acceptedTexts().length >= messages.length) break
    }
    const accepted = system.acceptedTexts()
    for (const chat of platform.chats.busy) {
      assert.deepEqual(
        accepted.filter((text) => text.includes(` ${chat}n`)),
        messages.filter((one) => one.chat === chat).map(textOf),
      )
    }
  })
}
