/**
 * The platforms of this proof.
 */
import { startDiscordPlatform } from './discord.ts'
import { startSlackPlatform } from './slack.ts'
import { startTelegramPlatform } from './telegram.ts'
import type { TestPlatform } from './test-platform.ts'

export const testPlatforms: readonly (() => Promise<TestPlatform>)[] = [
  startTelegramPlatform,
  startDiscordPlatform,
  startSlackPlatform,
]
