/**
 * The configuration keys of the agent. Durations are in seconds, as in the seeds.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'
import { reasoningEfforts } from '../message/conversation-choices.ts'
import { browserConfig } from './browser/config.ts'
import { checkpointsConfig } from './checkpoints/config.ts'
import { codeConfig } from './code/config.ts'
import { compressionConfig } from './compression/config.ts'
import { terminalConfig } from './environments/config.ts'
import { memoryConfig } from './memory/config.ts'
import { modelConfig } from './models/config.ts'
import { skillsConfig } from './skills/config.ts'
import { toolsetsConfig } from './support/toolsets-config.ts'

const seconds = z.number().positive()

function isTimeZone(name: string): boolean {
  if (name === '') return true
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

export const agentConfig = {
  ...modelConfig,
  ...codeConfig,
  ...browserConfig,
  ...checkpointsConfig,
  max_iterations: z.int().min(1).max(1000).default(90).describe('Maximum number of model calls per turn.'),
  timezone: z
    .string()
    .refine(isTimeZone, 'expected a time zone of IANA such as Europe/Berlin, or UTC')
    .default('')
    .describe(
      'The time zone in which the model is told the date, such as Europe/Berlin. The default is that of the machine.',
    ),
  prefill_messages_file: z
    .string()
    .default('')
    .describe(
      'A JSON file with messages `{"role", "content"}` that precede every conversation: user and assistant in turn, and system. They are added to each request and stored nowhere. Relative to the home of the gateway; read again for each turn.',
    ),
  personality: z
    .string()
    .default('SOUL.md')
    .describe(
      'The persona file in the home directory, with whose text the system prompt begins; or a name of `personalities`.',
    ),
  personalities: z
    .record(
      z.string().regex(/^[^\s/]{1,64}$/, 'must be one word of at most 64 characters'),
      z.union([
        z.string().min(1).max(20_000),
        z.object({
          system_prompt: z.string().min(1).max(20_000),
          description: z.string().max(200).default(''),
          tone: z.string().max(1_000).default(''),
          style: z.string().max(1_000).default(''),
        }),
      ]),
    )
    .default({})
    .describe(
      'Personalities that people choose with `/personality`: a name, and the text that follows SOUL.md in the system prompt, or `{system_prompt, tone, style, description}`.',
    ),
  reasoning_effort: z
    .enum(reasoningEfforts)
    .optional()
    .describe('How much the model may reason, for models with such a setting.'),
  max_output_tokens: z
    .int()
    .min(1)
    .optional()
    .describe('Maximum length of one response in tokens. Anthropic requires a limit; the default there is 8192.'),
  ...compressionConfig,
  ...toolsetsConfig,
  ...memoryConfig,
  ...skillsConfig,
  agent: z
    .object({
      drain_timeout: seconds.default(30).describe('Seconds that running turns have to finish when the daemon stops.'),
      restart_drain_timeout: z
        .number()
        .min(0)
        .optional()
        .describe(
          'As `drain_timeout`, for a restart (`/restart`, SIGUSR1); by default the same. 0 interrupts at once.',
        ),
      max_turns: z
        .int()
        .min(1)
        .max(1000)
        .optional()
        .describe('The former name of `max_iterations`; takes precedence when both are set.'),
      image_input_mode: z
        .enum(['auto', 'native', 'text'])
        .default('auto')
        .describe(
          'Which models are shown the pictures that people send. `auto`: those that are known to read pictures, and those with `supports_vision`. `native`: all. `text`: none; each reads the path of the file, and has `vision_analyze` for it.',
        ),
      model_timeout: seconds
        .default(600)
        .describe(
          'Seconds without output of the model after which a call fails. Comments and empty chunks of the stream are not output.',
        ),
      model_call_timeout: seconds
        .default(1800)
        .describe('Maximum number of seconds of a model call, however much the model sends.'),
      retry_window: z
        .number()
        .min(0)
        .default(120)
        .describe('Seconds in which a failed model call is retried after its first transient failure.'),
      max_retries: z
        .int()
        .min(0)
        .max(1000)
        .optional()
        .describe(
          'Maximum number of retries of a model call. When it is reached, the message fails at once, without waiting for the end of an outage.',
        ),
      gateway_notify_interval: z
        .number()
        .min(0)
        .default(180)
        .describe(
          'Seconds after which the chat is told what a turn is doing, and between two such notices; 0 for never. See `display.long_running_notifications`.',
        ),
      outage_patience: z
        .number()
        .min(0)
        .default(1800)
        .describe(
          'Seconds that a message waits for the provider of the model after its first failure. The waiting message is stored, so a restart changes nothing.',
        ),
      max_concurrent_turns: z
        .int()
        .min(1)
        .max(10_000)
        .default(64)
        .describe('Maximum number of turns that run at the same time.'),
      max_tool_result_chars: z
        .int()
        .min(1_000)
        .default(50_000)
        .describe('Maximum length of a tool result; a longer one is cut in the middle.'),
      max_identical_calls: z
        .int()
        .min(0)
        .max(100)
        .default(5)
        .describe(
          'A turn ends with a notice when the same tool call has had the same result this many times among its latest calls; 0 for no limit.',
        ),
      max_turn_tokens: z
        .int()
        .min(1)
        .optional()
        .describe(
          'A turn ends with a notice when its model calls have used this many tokens, input and output together. The default is no limit.',
        ),
      system_prompt: z
        .string()
        .max(20_000)
        .default('')
        .describe(
          'A text that follows the system prompt in each request. It is stored nowhere, so a change counts for all conversations at once.',
        ),
      disabled_toolsets: z
        .array(z.string())
        .default([])
        .describe(
          'Toolsets and tools that the model does not get, whatever the other lists say. Counts at once, also in conversations that have begun.',
        ),
    })
    .prefault({}),
  delegation: z
    .object({
      max_iterations: z.int().min(1).max(1000).default(50).describe('Maximum number of model calls of a sub-agent.'),
      max_concurrent_children: z
        .int()
        .min(1)
        .max(10)
        .default(3)
        .describe(
          'Maximum number of sub-agents that one call of `delegate_task` starts, and of sub-agents of one conversation in the background.',
        ),
      max_spawn_depth: z
        .int()
        .min(1)
        .max(3)
        .default(1)
        .describe('How deep sub-agents may start sub-agents. 1: only the agent itself starts them.'),
      max_children_per_turn: z
        .int()
        .min(1)
        .max(1000)
        .default(50)
        .describe('Maximum number of sub-agents that one turn starts, at all depths together.'),
      default_toolsets: z
        .array(z.string())
        .default(['terminal', 'file', 'web'])
        .describe(
          'Toolsets of a sub-agent for which the agent names none; `*` for all that the agent has. A sub-agent never gets a tool that the agent does not have.',
        ),
      inherit_mcp_toolsets: z
        .boolean()
        .default(true)
        .describe('Whether a sub-agent also has the MCP servers of the agent, whichever toolsets it is given.'),
      child_timeout_seconds: seconds
        .default(600)
        .describe('Seconds that a sub-agent may work. It is then ended, and the agent is told.'),
      model: z.string().default('').describe('The model of sub-agents. The default is that of the conversation.'),
      provider: z.string().default('').describe('The provider of sub-agents, as `provider`, which is the default.'),
      base_url: z.string().default('').describe('The address of the API of sub-agents. The default is `base_url`.'),
      api_key: z
        .string()
        .default('')
        .describe(
          'The API key of sub-agents. A key is only sent to the provider or the address for which it is configured.',
        ),
      api_mode: modelConfig.api_mode.describe('The API that the server of sub-agents speaks, as `api_mode`.'),
    })
    .prefault({}),
  security: z
    .object({
      allow_private_urls: z
        .boolean()
        .default(false)
        .describe(
          '`web_extract` and the browser may read pages of this machine and of private networks. Addresses of cloud metadata services stay forbidden.',
        ),
      scan_soul: z
        .enum(['warn', 'block'])
        .default('warn')
        .describe(
          'What happens when the persona file looks like a prompt injection. Files of projects are always blocked.',
        ),
    })
    .prefault({}),
  ...terminalConfig,
} as const

export type AgentConfig = ConfigOf<typeof agentConfig>
