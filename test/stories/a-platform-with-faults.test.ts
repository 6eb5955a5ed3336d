import { suite, test } from 'node:test'
import { startDiscordPlatform } from '../proof/platforms/discord.ts'
import { startSlackPlatform } from '../proof/platforms/slack.ts'
import { startTelegramPlatform } from '../proof/platforms/telegram.ts'
import { testWithFaults } from './platform-faults.ts'

// Concurrent, because they mostly wait.
suite('a platform with failures, duplicates, reordering, rate limits and outages', { concurrency: true }, () => {
  test('on Telegram each message is answered once and in order, or with a duplicate label', (t) =>
    testWithFaults(t, startTelegramPlatform, 'labelled'))

  test('on Discord each message is answered once and in order', (t) => testWithFaults(t, startDiscordPlatform, 'found'))

  test('on Slack each message is answered once and in order', (t) => testWithFaults(t, startSlackPlatform, 'found'))
})
