/**
 * The section `display` of the configuration: what a chat shows of a turn.
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'

/** What a message does that arrives while the agent works. */
export const busyInputModes = ['interrupt', 'queue', 'steer', 'collect'] as const
export type BusyInputMode = (typeof busyInputModes)[number]

export const displayConfig = {
  display: z
    .object({
      busy_input_mode: z
        .enum(busyInputModes)
        .default('interrupt')
        .describe(
          'What a message does while the agent works for the same person: `interrupt` ends the turn and takes the message next, `queue` gives each message a turn of its own, `steer` shows it to the model after the current tools, `collect` puts all waiting messages into one turn. `/busy` chooses for one conversation. Programs always queue.',
        ),
      busy_text_mode: z
        .enum(busyInputModes)
        .optional()
        .describe(
          'The former name of `busy_input_mode`. Where it is set, it takes precedence; `queue` sends no acknowledgements.',
        ),
      busy_ack_enabled: z
        .boolean()
        .default(true)
        .describe('Tells the sender what happens to a message that arrived while the agent worked.'),
      busy_ack_detail: z
        .boolean()
        .default(true)
        .describe('Adds to the acknowledgement how long a turn of more than a minute has been running, and its tools.'),
      busy_steer_ack_enabled: z
        .boolean()
        .default(true)
        .describe('Acknowledges messages that are steered into a turn, too.'),
      busy_text_debounce_seconds: z
        .number()
        .min(0)
        .max(5)
        .optional()
        .describe(
          'Texts of one sender that arrive within this time while the agent works become one turn. Default: 0 in private chats, 0.35 elsewhere.',
        ),
      busy_text_hard_cap_seconds: z
        .number()
        .min(0)
        .max(10)
        .default(1)
        .describe('The longest time that the first text of such a group waits for others.'),
      busy_queue_limit: z
        .int()
        .min(1)
        .max(1_000)
        .default(32)
        .describe(
          'How many messages of a conversation may wait. Further ones are not taken, and their sender is told.',
        ),
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
