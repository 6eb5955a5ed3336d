/**
 * Every chat product of this proof.
 */
import type { Stage } from './stage.ts'
import { startTelegramStage } from './telegram.ts'

export const stageMakers: readonly (() => Promise<Stage>)[] = [startTelegramStage]
