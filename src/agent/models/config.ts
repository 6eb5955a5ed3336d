/**
 * The configuration keys of the model and of the servers that answer for it (contract agent.md S6, S7).
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'
import { strategies } from '../credentials/strategy.ts'
import { catalogue } from './catalogue.ts'

const name = z
  .string()
  .regex(/^[a-z0-9][\w.:-]{0,63}$/i, 'must be a name of letters, digits and the characters . : _ -')

const names = Object.keys(catalogue).join(', ')

const server = z.object({
  base_url: z.string().optional().describe('The address of the API.'),
  api_key: z.string().optional().describe('The key. Prefer `key_env` and .env.'),
  key_env: z.string().min(1).optional().describe('The environment variable that holds the key.'),
  api_mode: z
    .enum(['chat_completions', 'codex_responses', 'anthropic_messages'])
    .optional()
    .describe('The API that the server speaks.'),
})

export const modelConfig = {
  model: z
    .string()
    .default('')
    .describe('The name of the model at its provider, for example gpt-5.2 or claude-sonnet-5.'),
  provider: name
    .optional()
    .describe(
      `The provider of the model: ${names}, a name of \`providers\`, \`demo\` or \`none\`. When omitted, or with \`auto\`, the configured keys decide; without a key, the offline demonstration runs. \`none\`: no model, every message is answered with an error.`,
    ),
  base_url: z
    .string()
    .default('')
    .describe('The address of the API, for a server that is compatible with the provider.'),
  api_key: z
    .string()
    .default('')
    .describe('The API key of the provider. Prefer its variable in .env, for example OPENAI_API_KEY.'),
  providers: z
    .record(name, server)
    .default({})
    .describe(
      'Servers by name, for `provider`: `{base_url, api_key or key_env, api_mode}`. An entry with a name of the catalogue changes the address or the key of that provider.',
    ),
  fallback_providers: z
    .array(
      z.object({
        provider: name,
        model: z.string().min(1),
        base_url: z.string().optional(),
        key_env: z.string().min(1).optional().describe('The environment variable that holds the key.'),
        api_key: z.string().optional(),
        context_length: z
          .int()
          .min(1_000)
          .optional()
          .describe('The size of its window in tokens, if it is another one than `context_length`.'),
      }),
    )
    .max(10)
    .default([])
    .describe(
      'Models that finish a turn when the configured one fails, in this order: `{provider, model, base_url, key_env, context_length}`. At once when the key or the model is refused, after three tries when the provider is busy or does not answer. One change per turn; the next turn begins with the configured model again.',
    ),
  credential_pool_strategies: z
    .record(name, z.enum(strategies))
    .default({})
    .describe(
      'How the keys of a provider are chosen when it has several (`hermes auth list`): fill_first uses the first one that is accepted, round_robin the next one for each turn, least_used the one with the fewest turns, random any. The default is fill_first, which keeps prompt caches warm.',
    ),
} as const

export type ModelConfig = ConfigOf<typeof modelConfig>
