/**
 * The agent's part of the configuration. Durations are seconds, as the seeds have them.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'
import { compressionConfig } from './compression/config.ts'

const seconds = z.number().positive()

export const agentConfig = {
  model: z
    .string()
    .default('')
    .describe('The model to use, as its provider names it, for example gpt-5.2 or claude-sonnet-5.'),
  provider: z
    .enum(['openai', 'openai-responses', 'anthropic', 'demo'])
    .optional()
    .describe(
      'Who runs the model. Left out: guessed from the keys that are set; with none, the offline demonstration.',
    ),
  base_url: z
    .string()
    .default('')
    .describe('The address of the API, for any server that speaks the protocol of the provider.'),
  api_key: z
    .string()
    .default('')
    .describe('The key of the provider; better kept in .env as OPENAI_API_KEY or ANTHROPIC_API_KEY.'),
  max_iterations: z.int().min(1).max(1000).default(90).describe('Model calls per turn, at most.'),
  personality: z
    .string()
    .default('SOUL.md')
    .describe('The persona file of the home; its text opens the system prompt.'),
  reasoning_effort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])
    .optional()
    .describe('How long the model may think, where it can be told.'),
  max_output_tokens: z
    .int()
    .min(1)
    .optional()
    .describe('Length limit of one answer; needed by Anthropic, 8192 there by default.'),
  ...compressionConfig,
  agent: z
    .object({
      drain_timeout: seconds.default(30).describe('Seconds that running turns get to end when the daemon stops.'),
      max_turns: z
        .int()
        .min(1)
        .max(1000)
        .optional()
        .describe('The older name of `max_iterations`; where both are set, this one counts.'),
      model_timeout: seconds.default(600).describe('Seconds without a sign of the model until a call is given up.'),
      max_retries: z.int().min(0).max(20).default(4).describe('How often a failed model call is tried again.'),
      max_concurrent_turns: z.int().min(1).max(10_000).default(64).describe('Turns that may run at the same time.'),
      max_tool_result_chars: z.int().min(1_000).default(50_000).describe('A longer tool result is cut in the middle.'),
      disabled_toolsets: z
        .array(z.string())
        .default([])
        .describe('Toolsets the model does not get: terminal, file, todo, delegation.'),
    })
    .prefault({}),
  delegation: z
    .object({
      max_iterations: z.int().min(1).max(1000).default(50).describe('Model calls of a sub-agent, at most.'),
      max_concurrent_children: z.int().min(1).max(10).default(3).describe('Sub-agents that a turn has at once.'),
    })
    .prefault({}),
  terminal: z
    .object({
      backend: z
        .enum(['local', 'docker', 'ssh', 'modal', 'daytona', 'singularity'])
        .default('local')
        .describe(
          'Where commands run. Only local is there yet; with another one the model gets no terminal and no file tools.',
        ),
      cwd: z
        .string()
        .default('')
        .describe(
          'The folder commands start in; relative ones begin at the home directory of the user, which is also the default.',
        ),
      timeout: seconds.default(180).describe('Seconds a command may run when the model asks for no other limit.'),
      max_timeout: seconds.default(1800).describe('Seconds a command may run at most.'),
      max_output_kb: z.int().min(1).default(200).describe('Output kept of one command.'),
      env_passthrough: z
        .array(z.string())
        .default([])
        .describe('Names of variables that commands may see beyond the plain ones.'),
    })
    .prefault({}),
} as const

export type AgentConfig = ConfigOf<typeof agentConfig>
