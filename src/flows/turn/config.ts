/**
 * The section `display` of the configuration: what a chat shows of a turn (contract §3.7).
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'
import { busyInputModes, type ToolProgressMode, toolProgressModes } from '../../message/conversation-choices.ts'

const footerFields = ['model', 'tokens', 'cost', 'duration', 'context_pct'] as const
export type FooterField = (typeof footerFields)[number]

/** The keys that may differ by platform, without their defaults. */
const keys = {
  interim_assistant_messages: z.boolean(),
  tool_progress: z.enum([...toolProgressModes, 'log']),
  tool_progress_grouping: z.enum(['accumulate', 'separate']),
  tool_preview_length: z.int().min(0).max(500),
  cleanup_progress: z.boolean(),
  show_reasoning: z.boolean(),
  long_running_notifications: z.boolean(),
}

const footer = { enabled: z.boolean(), fields: z.array(z.enum(footerFields)) }

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
          'How many messages of a person may wait in a conversation. Further ones are not taken, and the person is told.',
        ),
      interim_assistant_messages: keys.interim_assistant_messages
        .default(true)
        .describe('Sends the text before tool calls as a message of its own. Otherwise only the final answer is sent.'),
      tool_progress: keys.tool_progress
        .default('all')
        .describe(
          'Shows the tools of a turn in the chat. `new`: a line when another tool begins. `all`: a line for each call. `verbose`: with longer arguments and the results. `off` and `log`: nothing. Pages show tools themselves, and are not affected.',
        ),
      tool_progress_grouping: keys.tool_progress_grouping
        .default('accumulate')
        .describe(
          '`accumulate`: one message, which is edited, for the tools between two texts; needs a platform that can edit messages. `separate`: one message for each call.',
        ),
      tool_progress_command: z
        .boolean()
        .default(false)
        .describe('Permits `/verbose`, which changes `tool_progress` for one conversation.'),
      tool_preview_length: keys.tool_preview_length
        .default(0)
        .describe(
          'The longest text, in characters, that a line about a tool shows of what the tool works on. 0: 60 characters, and 150 with `verbose`.',
        ),
      cleanup_progress: keys.cleanup_progress
        .default(false)
        .describe('Removes the messages about tools when the turn ends, on platforms that can remove messages.'),
      long_running_notifications: keys.long_running_notifications
        .default(true)
        .describe('Says in the chat what a turn is doing when it takes longer than `agent.gateway_notify_interval`.'),
      show_reasoning: keys.show_reasoning
        .default(false)
        .describe(
          'Shows what the model thought above its answer, where the provider tells it. `/reasoning show` and `hide` choose for one conversation.',
        ),
      runtime_footer: z
        .object({
          enabled: footer.enabled
            .default(false)
            .describe('Adds a line to each answer. `/footer` changes it for one conversation.'),
          fields: footer.fields
            .default(['model', 'tokens', 'duration', 'context_pct'])
            .describe(
              'The parts of the line: the model, the tokens and the duration of the turn, and the share of the context length in use.',
            ),
        })
        .prefault({}),
      platforms: z
        .record(
          z.string(),
          z.object({
            interim_assistant_messages: keys.interim_assistant_messages.optional(),
            tool_progress: keys.tool_progress.optional(),
            tool_progress_grouping: keys.tool_progress_grouping.optional(),
            tool_preview_length: keys.tool_preview_length.optional(),
            cleanup_progress: keys.cleanup_progress.optional(),
            show_reasoning: keys.show_reasoning.optional(),
            long_running_notifications: keys.long_running_notifications.optional(),
            runtime_footer: z
              .object({ enabled: footer.enabled.optional(), fields: footer.fields.optional() })
              .optional(),
          }),
        )
        .default({})
        .describe('The same keys for one platform, for example `display.platforms.telegram`.'),
    })
    .prefault({}),
  filter_silence_narration: z
    .boolean()
    .default(true)
    .describe(
      'Drops a reply that only says that it is silent, such as `*(silent)*`, `🔇`, `.` or `…`, to another bot and of a task. A person who wrote gets it as it is, because no answer would look like a lost one.',
    ),
} as const

export type DisplayConfig = ConfigOf<typeof displayConfig>

/** What one conversation shows. */
export interface DisplaySettings {
  readonly interimMessages: boolean
  readonly toolProgress: ToolProgressMode
  readonly grouping: 'accumulate' | 'separate'
  /** Characters; 0 for the lengths of the mode. */
  readonly previewLength: number
  readonly cleansUp: boolean
  readonly longRunningNotifications: boolean
  /** The parts of the line below an answer, where there is one. */
  readonly footerFields: readonly FooterField[]
}
