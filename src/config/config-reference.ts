/**
 * Generates the rows and the page of the configuration reference from the schemas of the modules.
 */
import { configJsonSchema, type JsonSchema } from './json-schema.ts'
import { type EnvironmentBinding, pathOf } from './overrides.ts'
import { isSecretName } from './secrets.ts'
import type { ConfigShape } from './section.ts'
import { isTree } from './tree.ts'

export interface ConfigRow {
  /** Dotted; `<name>` stands for a key that the user chooses, `[]` for the items of a list. */
  readonly path: string
  /** The type as text: `integer, 0 to 65535`. */
  readonly type: string
  /** In YAML notation, or ''. */
  readonly default: string
  readonly description: string
  /** Environment variables that set the value. */
  readonly variables: readonly string[]
  /** No command prints the value. */
  readonly secret: boolean
}

/** One row per setting, in the order of the modules. */
export function describeConfig(shapes: ConfigShape, environmentNames: readonly EnvironmentBinding[]): ConfigRow[] {
  const variables = new Map<string, string[]>()
  for (const name of environmentNames) {
    const path = pathOf(name).join('.')
    variables.set(path, [...(variables.get(path) ?? []), name.variable])
  }
  const rowsOf = (schema: JsonSchema, path: string): ConfigRow[] => {
    const inner = childSchemas(schema)
    if (inner.length > 0) return inner.flatMap(([key, child]) => rowsOf(child, path === '' ? key : `${path}.${key}`))
    return [
      {
        path,
        type: formatType(schema),
        default: schema['default'] === undefined ? '' : JSON.stringify(schema['default']),
        description: typeof schema['description'] === 'string' ? schema['description'] : '',
        variables: variables.get(path) ?? [],
        secret: schema['writeOnly'] === true || isSecretName(path),
      },
    ]
  }
  return rowsOf(configJsonSchema(shapes), '')
}

/** Named keys, then `<name>` for keys that the user chooses. Empty for a value. */
function childSchemas(schema: JsonSchema): [string, JsonSchema][] {
  const named = isTree(schema['properties']) ? Object.entries(schema['properties']) : []
  const free = schema['additionalProperties']
  const all: [string, unknown][] = isTree(free) && isTree(free['properties']) ? [...named, ['<name>', free]] : named
  return all.filter((entry): entry is [string, JsonSchema] => isTree(entry[1]))
}

function formatType(schema: JsonSchema): string {
  const { type, enum: values, const: only, anyOf, items } = schema
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(', ')
  if (only !== undefined) return `\`${String(only)}\``
  if (Array.isArray(anyOf)) return [...new Set(anyOf.filter(isTree).map(formatType))].join(' or ')
  switch (type) {
    case 'integer':
      return `integer${formatRange(schema)}`
    case 'number':
      return `number${formatRange(schema)}`
    case 'boolean':
      return '`true` or `false`'
    case 'array':
      return isTree(items) ? `list (${formatType(items)})` : 'list'
    case 'object':
      return 'map'
    case 'string':
      return 'string'
    default:
      return 'any value'
  }
}

function formatRange(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum } = schema
  const bound = (value: unknown) =>
    typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined
  const [min, max, above] = [bound(minimum), bound(maximum), bound(exclusiveMinimum)]
  if (above !== undefined) return max === undefined ? ` above ${above}` : ` above ${above}, at most ${max}`
  if (min !== undefined) return max === undefined ? `, at least ${min}` : `, ${min} to ${max}`
  return max === undefined ? '' : `, at most ${max}`
}

/** The text of docs/reference/configuration.md. */
export function renderConfigReference(rows: readonly ConfigRow[]): string {
  const sections = new Map<string, ConfigRow[]>()
  for (const row of rows) {
    const section = row.path.includes('.') ? row.path.slice(0, row.path.indexOf('.')) : ''
    sections.set(section, [...(sections.get(section) ?? []), row])
  }
  const top = sections.get('') ?? []
  sections.delete('')
  return [
    '# Configuration',
    '',
    '<!-- Generated from the types in src/*/config.ts and the plugin.yaml of each platform; a test keeps it current. -->',
    '',
    ...introduction,
    ...(top.length === 0 ? [] : ['', '## Top level', '', ...formatTable(top)]),
    ...[...sections].flatMap(([section, inside]) => ['', `## ${section}`, '', ...formatTable(inside)]),
    '',
  ].join('\n')
}

const introduction = [
  'This page lists every key of `config.yaml` in the home directory (`HERMES_HOME`, default `~/.hermes`). All keys are optional.',
  'The process environment overrides `.env` in the home, and `.env` overrides `config.yaml`.',
  'An empty variable counts as not set.',
  '',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the notation that is explained
  'In strings, `${NAME}` is replaced by a variable, `${NAME:-default}` by a variable with a default, and `$${` by `${`.',
  'An invalid value, or a variable that is not set, does not affect other keys. The key has its default, or the strictest value where the default would permit more (`terminal.backend: none`, `approvals.deny: ["*"]`, `provider: none`), and the gateway is degraded. In a key of a chat account it disables only that account. If the file is not valid YAML, the last valid one is used.',
  'The spellings of Hermes Agent are accepted, too: `model: {default, provider, base_url, api_key}`, `gateway.platforms.<platform>` and the name of a platform at the top level (`telegram:`). If a key has several spellings in the file, the one on this page takes precedence.',
  'Unknown keys are reported and ignored. `hermes config check` shows every issue with its line and column.',
  'Keys of Hermes Agent that have no effect in this version are notes in `hermes config check`, `hermes status`, `hermes doctor` and the log. If such a key restricts something (`security`, `approvals.mode`), the gateway is degraded.',
  'A running gateway applies changes of both files. The log and `hermes status` name the keys that require a restart.',
]

function formatTable(rows: readonly ConfigRow[]): string[] {
  const line = (row: ConfigRow) => {
    const value = row.default === '' ? '' : `\`${row.default}\``
    const variables = row.variables.map((name) => `\`${name}\``).join(', ')
    const description = row.secret ? `${row.description} Secret.`.trim() : row.description
    return `| ${[`\`${row.path}\``, row.type, value, variables, description].map(escapeCell).join(' | ')} |`
  }
  return ['| Key | Type | Default | Variable | Meaning |', '|---|---|---|---|---|', ...rows.map(line)]
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ')
}
