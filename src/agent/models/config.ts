/**
 * The configuration keys of the model and of the servers that answer for it (contract agent.md S6, S7).
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'
import { catalogue } from './catalogue.ts'
import { strategies } from './credentials/strategy.ts'
import type { NamedServer } from './resolve-provider.ts'

const name = z
  .string()
  .regex(/^[a-z0-9][\w.:-]{0,63}$/i, 'must be a name of letters, digits and the characters . : _ -')

const names = Object.keys(catalogue).join(', ')

const apiModes = ['chat_completions', 'codex_responses', 'anthropic_messages'] as const

const window = z.int().min(1_000)

const timeoutSeconds = z.number().positive().max(86_400)

const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,200}$/, 'must be the name of an HTTP header')

const headerValue = z.string().regex(/^[\t\x20-\x7e]*$/, 'must be one line of ASCII characters')

const serverModels = z.union(
  [
    z.array(z.string().min(1)).transform((ids) => Object.fromEntries(ids.map((id) => [id, {}]))),
    z.record(
      z.string().min(1),
      z.object({
        context_length: window.optional(),
        supports_vision: z.boolean().optional(),
        timeout_seconds: timeoutSeconds.optional(),
      }),
    ),
  ],
  { error: 'expected a list of models, or models with their context_length' },
)

/** With the other names that Hermes has for some of its keys. */
const serverFields = {
  base_url: z.string().optional().describe('The address of the API.'),
  url: z.string().optional().describe('As `base_url`.'),
  api: z.string().optional().describe('As `base_url`.'),
  api_key: z.string().optional().describe('The key. Prefer `key_env` and .env.'),
  key_env: z.string().min(1).optional().describe('The environment variable that holds the key.'),
  api_key_env: z.string().min(1).optional().describe('As `key_env`.'),
  api_mode: z.enum(apiModes).optional().describe('The API that the server speaks.'),
  transport: z
    .enum(['openai_chat', ...apiModes])
    .optional()
    .describe('As `api_mode`.'),
  model: z.string().optional().describe('The model where the provider is named without one.'),
  default_model: z.string().optional().describe('As `model`.'),
  models: serverModels
    .optional()
    .describe(
      'The models to choose from, as a list or as `{<model>: {context_length, supports_vision, timeout_seconds}}`, where the server does not list them.',
    ),
  extra_headers: z
    .record(headerName, headerValue)
    .optional()
    .describe('Headers of each request to the server. They take precedence over those of the gateway.'),
  extra_body: z
    .record(z.string().min(1), z.json())
    .optional()
    .describe('Fields of each request to the server, for example `service_tier`.'),
  session_affinity_header: headerName
    .optional()
    .describe(
      'The name of a header that carries the id of the conversation, for a proxy that keeps conversations apart.',
    ),
  request_timeout_seconds: timeoutSeconds
    .optional()
    .describe('Seconds without output of its models after which a call fails, in place of `agent.model_timeout`.'),
  context_length: window.optional().describe('The size of the window of its models in tokens.'),
  supports_vision: z
    .boolean()
    .optional()
    .describe('Whether its models read pictures. When omitted, the name of the model decides.'),
}

const server = z.object(serverFields).transform(toServer)

const customProvider = z
  .object({
    name: z.string().min(1).describe('The provider is `custom:<name>`, with `-` for each space.'),
    ...serverFields,
  })
  .transform((entry) => ({ name: entry.name, ...toServer(entry) }))

function toServer(entry: z.output<z.ZodObject<typeof serverFields>>): NamedServer {
  const { transport = entry.api_mode } = entry
  return {
    base_url: entry.base_url ?? entry.url ?? entry.api,
    api_key: entry.api_key,
    key_env: entry.key_env ?? entry.api_key_env,
    api_mode: entry.api_mode ?? (transport === 'openai_chat' ? 'chat_completions' : transport),
    model: entry.model ?? entry.default_model,
    models: entry.models,
    context_length: entry.context_length,
    supports_vision: entry.supports_vision,
    extra_headers: entry.extra_headers,
    extra_body: entry.extra_body,
    session_affinity_header: entry.session_affinity_header,
    request_timeout_seconds: entry.request_timeout_seconds,
  }
}

/** Shared by all tasks, because each schema takes memory. */
const auxiliaryKeys = {
  provider: z
    .string()
    .default('auto')
    .describe('The provider of the model. `auto` and `main`: that of the conversation, unless `base_url` is set.'),
  model: z.string().default('').describe('The model; when empty, the model of the conversation.'),
  base_url: z
    .string()
    .default('')
    .describe('The address of the API. The `api_key` of the conversation is not sent to another address.'),
  api_key: z.string().default('').describe('The key for this address or provider.'),
} as const

/** The model of one kind of work beside the conversation. */
function auxiliaryModel(seconds: number) {
  const timeout = z.number().positive().max(3_600).default(seconds)
  return { ...auxiliaryKeys, timeout: timeout.describe('Seconds after which the work goes on without it.') }
}

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
  api_mode: z
    .enum(apiModes)
    .optional()
    .describe('The API that the server at `base_url` speaks. The default is that of the provider.'),
  providers: z
    .record(name, server)
    .default({})
    .describe(
      'Servers by name, for `provider`: `{base_url, api_key or key_env, api_mode, model, models, context_length, supports_vision}`. An entry with a name of the catalogue changes the address or the key of that provider.',
    ),
  custom_providers: z
    .array(customProvider)
    .default([])
    .describe('The older form of `providers`: a list of `{name, base_url, ...}`. The provider is `custom:<name>`.'),
  fallback_providers: z
    .array(
      z.object({
        provider: name,
        model: z.string().min(1),
        base_url: z
          .string()
          .optional()
          .describe('The address of another server. The keys of the provider are not sent there: set `key_env`.'),
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
      'Models that finish a turn when the configured one fails, in this order: `{provider, model, base_url, key_env, context_length}`. At once when the keys or the model are refused, after three tries when the provider is busy or does not answer. One change per turn; the next turn begins with the configured model again, unless all its keys rest. `hermes fallback` edits the list.',
    ),
  model_prices: z
    .record(
      z.string().min(1),
      z.object({
        input: z.number().min(0),
        cached_input: z.number().min(0).optional().describe('The default is the price of the input.'),
        cache_write: z.number().min(0).optional().describe('The default is the price of the input.'),
        output: z.number().min(0),
      }),
    )
    .default({})
    .describe(
      'Prices by name of the model, in US dollars per million tokens: `{input, cached_input, cache_write, output}`. They replace the known prices. `"*"` is any other model. What the provider reports as the cost of a request counts first.',
    ),
  auxiliary: z
    .object({
      vision: z
        .object(auxiliaryModel(120))
        .prefault({})
        .describe('The model that looks at pictures for a model that cannot see.'),
      web_extract: z.object(auxiliaryModel(120)).prefault({}).describe('The model that shortens long web pages.'),
      compression: z.object(auxiliaryModel(300)).prefault({}).describe('The model that summarises long conversations.'),
      approval: z
        .object(auxiliaryModel(30))
        .prefault({})
        .describe(
          'The model that judges commands with `approvals.mode: smart`. A user is asked when it does not answer in time.',
        ),
      title_generation: z
        .object({
          enabled: z.boolean().default(true).describe('Gives a conversation a title after its second answer.'),
          ...auxiliaryModel(30),
        })
        .prefault({})
        .describe('The model that finds a title for a conversation.'),
      mcp: z
        .object(auxiliaryModel(60))
        .prefault({})
        .describe('The model that answers MCP servers with `sampling.enabled`.'),
    })
    .prefault({})
    .describe(
      'Models for work beside the conversation. What a task leaves empty is that of the conversation. When the model of a task fails, the model of the conversation does the work.',
    ),
  credential_pool_strategies: z
    .record(name, z.enum(strategies))
    .default({})
    .describe(
      'How the keys of a provider are chosen when it has several (`hermes auth list`): fill_first uses the first one that is accepted, round_robin the next one for each turn, least_used the one with the fewest turns, random any. The default is fill_first, which keeps prompt caches warm.',
    ),
} as const

export type ModelConfig = ConfigOf<typeof modelConfig>
