/**
 * Generates the table of the fields of `plugin.yaml`. The names come from the schema, the descriptions are here.
 */
import { textOf } from '../repository.ts'
import { table } from './table.ts'

const source = 'src/plugins/manifest.ts'

const descriptions: Readonly<Record<string, readonly [meaning: string, defaultValue: string]>> = {
  name: ['the display name; the id of the plugin is the name of its folder', 'the name of the folder'],
  version: ['the version, a string or a number', '`0.0.0`'],
  description: ['one line for `hermes plugins list`', 'empty'],
  author: ['the author', 'empty'],
  kind: [
    '`standalone`, `backend`, `exclusive` (a memory provider), `platform` or `model-provider`. A `platform` is loaded from `platforms/` or `plugins/platforms/`; a `model-provider` is not supported',
    '`standalone`; `exclusive` in `memory/`',
  ],
  manifest_version: ['`1` or `2`: version 2 warns about unknown fields', '`1`'],
  requires_env: [
    'required environment variables: names, or mappings with a `name`; the plugin is not loaded without them',
    'none',
  ],
  optional_env: ['optional environment variables', 'none'],
  provides_tools: ['the tools of the plugin, as information for readers; only `register` registers them', 'none'],
  provides_hooks: ['the hooks of the plugin, as information for readers', 'none'],
  requires_plugins: [
    'plugins that are loaded before it: ids, or `{ id, version_range }`. A missing plugin or another version causes a warning',
    'none',
  ],
  requires_hermes: [
    'the supported versions of the contract, for example `>=0.19`; otherwise the plugin is not loaded',
    'any',
  ],
  config_schema: [
    'the settings by name, each with `type` (`string`, `number`, `integer`, `boolean`, `list`, `map`), `default`, `description`, `required`. Invalid settings cause a warning',
    'settings are not validated',
  ],
}

/** Throws when the fields of the schema and the descriptions differ. */
export function pluginManifest(): string {
  const text = textOf(source)
  const schema = between(text, 'const manifestSchema = z.looseObject(', '\n  },\n')
  const fields = [...schema.matchAll(/^ {4}(\w+):/gm)].map(([, name = '']) => name)
  const described = Object.keys(descriptions)
  const unknown = [
    ...fields.filter((name) => !described.includes(name)),
    ...described.filter((name) => !fields.includes(name)),
  ]
  if (fields.length < 5 || unknown.length > 0)
    throw new Error(`${source}: fields without a description, or descriptions without a field: ${unknown.join(', ')}`)
  const others = [...between(text, 'const unusedFields = new Set([', '])').matchAll(/'(\w+)'/g)].map(
    ([, name]) => `\`${name}\``,
  )
  const rows = fields.map((name) => [`\`${name}\``, ...(descriptions[name] ?? [])])
  return `${table(['Field', 'Meaning', 'Default'], rows)}\n\nSupported, but not used: ${others.join(', ')}.`
}

function between(text: string, from: string, to: string): string {
  const at = text.indexOf(from)
  if (at === -1) throw new Error(`${source} does not contain "${from}"`)
  return text.slice(at, text.indexOf(to, at))
}
