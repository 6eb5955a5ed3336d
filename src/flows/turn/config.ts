/**
 * The section `display` of the configuration: what a chat shows of a turn.
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'

export const displayConfig = {
  display: z
    .object({
      interim_assistant_messages: z
        .boolean()
        .default(true)
        .describe('Sends the text before tool calls as a message of its own. Otherwise only the final answer is sent.'),
      platforms: z
        .record(z.string(), z.object({ interim_assistant_messages: z.boolean().optional() }))
        .default({})
        .describe('The same keys for one platform, for example `display.platforms.telegram`.'),
    })
    .prefault({}),
} as const

export type DisplayConfig = ConfigOf<typeof displayConfig>

export function showsInterimMessages({ display }: DisplayConfig, platform: string): boolean {
  return display.platforms[platform]?.interim_assistant_messages ?? display.interim_assistant_messages
}
