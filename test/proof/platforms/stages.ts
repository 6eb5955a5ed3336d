/**
 * The platforms of this proof.
 */
import { startDiscordStage } from './discord.ts'
import { startSlackStage } from './slack.ts'
import type { Stage } from './stage.ts'
import { startTelegramStage } from './telegram.ts'

export const stageMakers: readonly (() => Promise<Stage>)[] = [startTelegramStage, startDiscordStage, startSlackStage]
