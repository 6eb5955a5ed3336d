/**
 * `plugins` in config.yaml: which plugins are loaded, what each is told, and what it may do (contract §2.2). Nothing is
 * loaded that is not named here.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

const pluginEntrySchema = z.looseObject({
  settings: z.record(z.string(), z.unknown()).default({}).describe('What the plugin reads as its configuration.'),
  allow_tool_override: z
    .boolean()
    .default(false)
    .describe('Lets the plugin put a tool of its own in the place of another one.'),
  allow_gateway_injection: z
    .boolean()
    .default(false)
    .describe('Lets the plugin hand in messages as if somebody had written them.'),
  llm: z
    .looseObject({
      allow_model_override: z
        .boolean()
        .default(false)
        .describe('Lets the plugin choose the model of its own questions.'),
    })
    .prefault({})
    .describe('What the plugin may ask of the model.'),
})

const pluginNames = z.union([z.string().transform((name) => [name]), z.array(z.string())], {
  error: 'expected a list of plugins',
})

export const pluginsConfig = {
  plugins: z
    .object({
      enabled: pluginNames
        .default([])
        .describe('Plugins that are loaded, by their folder: `otel`, or with its category `observability/otel`.'),
      disabled: pluginNames.default([]).describe('Plugins that are not loaded, whatever `enabled` says.'),
      entries: z
        .record(z.string(), pluginEntrySchema)
        .default({})
        .describe('By plugin: what it is told (`settings`), and what it may do.'),
      env: z
        .enum(['all', 'declared'])
        .default('all')
        .describe(
          'What the process of a plugin in Python sees of the environment: all of it with .env, or what its `requires_env` and `optional_env` name.',
        ),
      hook_callback_timeout: z
        .number()
        .min(0)
        .max(600)
        .default(30)
        .describe('Seconds that one callback of a plugin may take; then the turn goes on without it. 0: no limit.'),
      pre_tool_call_errors: z
        .enum(['open', 'closed'])
        .default('open')
        .describe('When a callback of `pre_tool_call` fails: `open` skips the callback, `closed` blocks the tool.'),
      stream_reasoning_deltas: z
        .boolean()
        .default(false)
        .describe('Shows plugins what the model thinks, too, while it streams.'),
    })
    .prefault({})
    .describe('Code that may change what happens in a turn. Only what is named is loaded.'),
  memory: z
    .looseObject({
      provider: z
        .string()
        .optional()
        .describe(
          'The plugin that keeps long-term memory beside the agent’s own: `honcho` is `plugins/memory/honcho`.',
        ),
    })
    .prefault({})
    .describe('What the agent remembers.'),
} as const

export type PluginsConfig = ConfigOf<typeof pluginsConfig>
export type PluginConfigEntry = z.output<typeof pluginEntrySchema>

/** What a plugin that the configuration does not mention may do: nothing beyond its registrations. */
const defaultEntry: PluginConfigEntry = pluginEntrySchema.parse({})

/** What the configuration says of one plugin, by its id or by the bare name of its folder. */
export function configEntryOf({ plugins: { entries } }: PluginsConfig, id: string): PluginConfigEntry {
  for (const key of [id, id.slice(id.lastIndexOf('/') + 1)]) {
    if (Object.hasOwn(entries, key)) return entries[key] ?? defaultEntry
  }
  return defaultEntry
}
