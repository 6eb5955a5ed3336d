import { suite, test } from 'node:test'
import { startDiscordStage } from '../proof/platforms/discord.ts'
import { startSlackStage } from '../proof/platforms/slack.ts'
import { startTelegramStage } from '../proof/platforms/telegram.ts'
import { testWithFaults } from './platform-faults.ts'

// Concurrent, because they mostly wait.
suite('a platform with failures, duplicates, reordering, rate limits and outages', { concurrency: true }, () => {
  test('on Telegram each message is answered once and in order, or with a duplicate label', (t) =>
    testWithFaults(t, startTelegramStage, 'labelled'))

  test('on Discord each message is answered once and in order', (t) => testWithFaults(t, startDiscordStage, 'found'))

  test('on Slack each message is answered once and in order', (t) => testWithFaults(t, startSlackStage, 'found'))
})
