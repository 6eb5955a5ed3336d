import { suite, test } from 'node:test'
import { startDiscordStage } from '../proof/platforms/discord.ts'
import { startSlackStage } from '../proof/platforms/slack.ts'
import { startTelegramStage } from '../proof/platforms/telegram.ts'
import { liveThroughTroubles } from './trouble.ts'

// Side by side: most of the time they wait.
suite('a platform that fails, doubles, reorders, limits and vanishes', { concurrency: true }, () => {
  test('on Telegram each message is answered once and in order, or says that it may be a duplicate', (t) =>
    liveThroughTroubles(t, startTelegramStage, 'labelled'))

  test('on Discord each message is answered once and in order', (t) =>
    liveThroughTroubles(t, startDiscordStage, 'found'))

  test('on Slack each message is answered once and in order', (t) => liveThroughTroubles(t, startSlackStage, 'found'))
})
