/**
 * `plugins` in config.yaml: which plugins are loaded, with which settings and permissions (contract §2.2).
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

const pluginEntrySchema = z.looseObject({
  settings: z.record(z.string(), z.unknown()).default({}).describe('Settings of the plugin.'),
  allow_tool_override: z.boolean().default(false).describe('Allows the plugin to replace tools of the same name.'),
  allow_gateway_injection: z
    .boolean()
    .default(false)
    .describe('Allows the plugin to add messages to sessions on behalf of a user.'),
  mcp_allowlist: z.array(z.string()).default([]).describe('MCP servers whose tools the plugin may call.'),
  llm: z
    .looseObject({
      allow_model_override: z
        .boolean()
        .default(false)
        .describe('Allows the plugin to choose the model of its own requests.'),
    })
    .prefault({})
    .describe('Permissions for model requests of the plugin.'),
})

const pluginNames = z.union([z.string().transform((name) => [name]), z.array(z.string())], {
  error: 'expected a list of plugins',
})

export const pluginsConfig = {
  plugins: z
    .object({
      enabled: pluginNames
        .default([])
        .describe(
          'Plugins to load, by the name of their folder (`otel`, or with the category `observability/otel`) or by the name in their `plugin.yaml`.',
        ),
      disabled: pluginNames
        .default([])
        .describe('Plugins that are not loaded, by folder or name. Takes precedence over `enabled`.'),
      entries: z.record(z.string(), pluginEntrySchema).default({}).describe('Settings and permissions by plugin.'),
      env: z
        .enum(['all', 'declared'])
        .default('all')
        .describe(
          'Environment variables for the process of a plugin in Python: all including .env, or only those in its `requires_env` and `optional_env`.',
        ),
      hook_callback_timeout: z
        .number()
        .min(0)
        .max(600)
        .default(30)
        .describe('Timeout of one plugin callback in seconds. The turn continues without its result. 0: no timeout.'),
      pre_tool_call_errors: z
        .enum(['open', 'closed'])
        .default('open')
        .describe(
          'Effect of a failed `pre_tool_call` callback: `open` skips the callback, `closed` blocks the tool call.',
        ),
      stream_reasoning_deltas: z
        .boolean()
        .default(false)
        .describe('Sends the streamed reasoning of the model to plugins, too.'),
    })
    .prefault({})
    .describe('Plugins extend or change turns. Only enabled plugins are loaded.'),
} as const

/** With the key of the agent's memory that names a plugin. */
export type PluginsConfig = ConfigOf<typeof pluginsConfig> & {
  readonly memory: { readonly provider?: string | undefined }
}
export type PluginConfigEntry = z.output<typeof pluginEntrySchema>

/** A plugin without an entry has no settings and no permissions. */
const defaultEntry: PluginConfigEntry = pluginEntrySchema.parse({})

/** The entry of one plugin, by its id or by the name of its folder. */
export function configEntryOf({ plugins: { entries } }: PluginsConfig, id: string): PluginConfigEntry {
  for (const key of [id, id.slice(id.lastIndexOf('/') + 1)]) {
    if (Object.hasOwn(entries, key)) return entries[key] ?? defaultEntry
  }
  return defaultEntry
}
