/**
 * The fields of `plugin.yaml`. Which there are is read from the schema; what they mean is said here, for each of them.
 */
import { textOf } from '../repository.ts'
import { table } from './table.ts'

const source = 'src/plugins/manifest.ts'

const read: Readonly<Record<string, readonly [what: string, without: string]>> = {
  name: ['the name that people read; the id of the plugin is the name of its folder', 'the name of the folder'],
  version: ['its version, a text or a number', '`0.0.0`'],
  description: ['one line for `hermes plugins list`', 'nothing'],
  author: ['who wrote it', 'nothing'],
  kind: [
    '`standalone`, `backend`, `exclusive` (a provider of memory), `platform` or `model-provider`. A `platform` is loaded as one, from `platforms/` or `plugins/platforms/`; a `model-provider` cannot be used here',
    '`standalone`; `exclusive` in `memory/`',
  ],
  manifest_version: ['`1` or `2`: in the second version unknown fields are remarked on', '`1`'],
  requires_env: ['variables without which it is not loaded: names, or mappings with a `name`', 'none'],
  optional_env: ['variables it can use', 'none'],
  provides_tools: ['for people who read the manifest; what counts is what `register` registers', 'nothing'],
  provides_hooks: ['as above', 'nothing'],
  requires_plugins: [
    'plugins that are loaded before it: ids, or `{ id, version_range }`. One that is not there, or not of that version, is a warning',
    'none',
  ],
  requires_hermes: ['a range of versions of the contract, `>=0.19`; outside of it the plugin is not loaded', 'any'],
  config_schema: [
    'its settings by name, each with `type` (`string`, `number`, `integer`, `boolean`, `list`, `map`), `default`, `description`, `required`. What does not fit is a warning',
    'no settings are known',
  ],
}

/** Throws when the schema has fields that are not explained here, or the other way round. */
export function pluginManifest(): string {
  const text = textOf(source)
  const schema = between(text, 'const manifestSchema = z.looseObject(', '\n  },\n')
  const fields = [...schema.matchAll(/^ {4}(\w+):/gm)].map(([, name = '']) => name)
  const explained = Object.keys(read)
  const unknown = [
    ...fields.filter((name) => !explained.includes(name)),
    ...explained.filter((name) => !fields.includes(name)),
  ]
  if (fields.length < 5 || unknown.length > 0)
    throw new Error(`${source}: what are these fields? ${unknown.join(', ')}`)
  const others = [...between(text, 'const unusedFields = new Set([', '])').matchAll(/'(\w+)'/g)].map(
    ([, name]) => `\`${name}\``,
  )
  const rows = fields.map((name) => [`\`${name}\``, ...(read[name] ?? [])])
  return `${table(['Field', 'What it says', 'Without it'], rows)}\n\nKnown, and not looked at: ${others.join(', ')}.`
}

function between(text: string, from: string, to: string): string {
  const at = text.indexOf(from)
  if (at === -1) throw new Error(`${source}: "${from}" is not there`)
  return text.slice(at, text.indexOf(to, at))
}
