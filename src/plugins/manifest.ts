/**
 * Parses `plugin.yaml` (contract §2.3). Reports all issues at once, each with its location in the file.
 */
import { z } from 'zod'
import { formatYamlIssues } from '../lib/format-yaml-issues.ts'
import { parseManifestYaml } from '../lib/manifest-yaml.ts'
import type { ParsedYaml } from '../lib/yaml.ts'

export interface PluginManifest {
  /** The display name. The id comes from the folder. */
  readonly name: string
  readonly version: string
  readonly description: string
  readonly author: string
  readonly kind: PluginKind
  /** Environment variables that must be set. */
  readonly requiresEnv: readonly string[]
  /** Environment variables that may be set. */
  readonly optionalEnv: readonly string[]
  readonly requiresPlugins: readonly PluginRequirement[]
  /** The names of its tools, as far as the manifest says them. */
  readonly providesTools: readonly string[]
  /** Undefined if the manifest does not say. */
  readonly providesHooks?: readonly string[] | undefined
  /** A version range of the plugin contract: `>=0.19`. */
  readonly requiresHermes?: string | undefined
  readonly configSchema: Readonly<Record<string, PluginOption>>
}

export type PluginKind = (typeof pluginKinds)[number]

export interface PluginRequirement {
  readonly id: string
  /** A version range. */
  readonly range?: string | undefined
}

export interface PluginOption {
  /** `string`, `number`, `integer`, `boolean`, `list`, `map`, or another name, which is not checked. */
  readonly type?: string | undefined
  readonly default?: unknown
  readonly description: string
  readonly required: boolean
}

export type ManifestResult =
  | { readonly ok: true; readonly manifest: PluginManifest; readonly warnings: readonly string[] }
  /** One sentence each: `file:line:column: expected …, found …`. */
  | { readonly ok: false; readonly issues: readonly string[] }

export interface ManifestDefaults {
  /** The name of the folder, used when the manifest contains no name. */
  readonly directoryName: string
  /** Used when the manifest contains no kind. */
  readonly kind?: PluginKind
}

const pluginKinds = ['standalone', 'backend', 'exclusive', 'platform', 'model-provider'] as const

/** Validates a manifest and applies defaults. Unknown fields are ignored. Never throws. */
export function parsePluginManifest(text: string, file: string, rules: ManifestDefaults): ManifestResult {
  const yaml = parseManifestYaml(text, file)
  if (yaml.issues.length > 0) {
    const issues = yaml.issues.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`)
    return { ok: false, issues }
  }
  const parsed = manifestSchema.safeParse(yaml.value)
  if (!parsed.success) return { ok: false, issues: formatYamlIssues(yaml, parsed.error.issues) }
  return { ok: true, manifest: toManifest(parsed.data, rules), warnings: unknownFieldWarnings(yaml, parsed.data) }
}

const textSchema = z.string({ error: 'expected a text' })
const versionSchema = (example: string) =>
  z.union([z.string(), z.number()], { error: `expected a version, for example ${example}` }).transform(String)

/** Accepts a single value as a list with one item. */
function listOf<Item extends z.ZodType>(item: Item, what: string) {
  return z.preprocess(
    (value) => (typeof value === 'string' ? [value] : (value ?? [])),
    z.array(item, { error: `expected ${what}` }),
  )
}

const nameListSchema = listOf(textSchema, 'a list of names').optional()
const variableNameSchema = textSchema.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
  error: 'expected the name of an environment variable',
})
const variableListSchema = listOf(
  z.union([variableNameSchema, z.looseObject({ name: variableNameSchema }).transform(({ name }) => name)], {
    error: 'expected the name of an environment variable',
  }),
  'a list of environment variables',
).optional()

const pluginIdSchema = textSchema.regex(/^[^\s/]+(?:\/[^\s/]+)?$/, {
  error: 'expected the name of a plugin: name, or category/name',
})

const manifestSchema = z.looseObject(
  {
    name: textSchema
      .regex(/^[\p{L}\p{N}_][\p{L}\p{N}_ .:@/-]{0,63}$/u, {
        error: 'expected a name of at most 64 letters, digits, spaces and . _ -',
      })
      .optional(),
    version: versionSchema('1.0.0').default('0.0.0'),
    description: textSchema.nullish(),
    author: textSchema.nullish(),
    kind: z.enum(pluginKinds, { error: `expected ${pluginKinds.join(', ')}` }).optional(),
    manifest_version: z.literal([1, 2], { error: 'expected 1 or 2' }).default(1),
    requires_env: variableListSchema,
    optional_env: variableListSchema,
    provides_tools: nameListSchema,
    provides_hooks: nameListSchema,
    requires_plugins: listOf(
      z.union([pluginIdSchema, z.looseObject({ id: pluginIdSchema, version_range: textSchema.optional() })], {
        error: 'expected the name of a plugin, or id and version_range',
      }),
      'a list of plugins',
    ).optional(),
    requires_hermes: versionSchema('>=0.19').optional(),
    config_schema: z
      .record(
        z.string(),
        z.looseObject(
          {
            type: textSchema.optional(),
            default: z.unknown().optional(),
            description: textSchema.default(''),
            required: z.boolean({ error: 'expected true or false' }).default(false),
          },
          { error: 'expected a mapping of type, default, description and required' },
        ),
        { error: 'expected a mapping of settings' },
      )
      .nullish(),
  },
  { error: 'expected the fields of a plugin: name, version, description …' },
)

type ManifestFile = z.output<typeof manifestSchema>

/** Fields of the contract that this gateway does not use. */
const unusedFields = new Set([
  'hooks',
  'label',
  'platforms',
  'external_dependencies',
  'pip_dependencies',
  'provides_browser_providers',
  'provides_web_providers',
  'api_version',
  'python_dependencies',
  'license',
  'homepage',
  'tags',
  'capabilities',
  'emits',
  'listens',
  'hermes',
  'depends',
])

function toManifest(file: ManifestFile, rules: ManifestDefaults): PluginManifest {
  return {
    name: file.name ?? rules.directoryName,
    version: file.version,
    description: file.description ?? '',
    author: file.author ?? '',
    kind: file.kind ?? rules.kind ?? 'standalone',
    requiresEnv: file.requires_env ?? [],
    optionalEnv: file.optional_env ?? [],
    requiresPlugins: (file.requires_plugins ?? []).map(toRequirement),
    providesTools: file.provides_tools ?? [],
    providesHooks: file.provides_hooks,
    requiresHermes: file.requires_hermes,
    configSchema: Object.fromEntries(
      Object.entries(file.config_schema ?? {}).map(([key, option]) => [key, toOption(option)]),
    ),
  }
}

function toRequirement(requirement: string | { readonly id: string; readonly version_range?: string | undefined }) {
  if (typeof requirement === 'string') return { id: requirement }
  const { id, version_range: range } = requirement
  return { id, range }
}

function toOption({ type, description, required, ...rest }: NonNullable<ManifestFile['config_schema']>[string]) {
  return {
    description,
    required,
    type,
    default: rest.default,
  }
}

/** Only `manifest_version: 2` defines all fields; version 1 allows any others. */
function unknownFieldWarnings(yaml: ParsedYaml, file: ManifestFile): string[] {
  if (file.manifest_version === 1) return []
  return Object.keys(file).flatMap((field) => {
    if (Object.hasOwn(manifestSchema.shape, field) || unusedFields.has(field)) return []
    const { line, column } = yaml.positionOf([field], 'key')
    return [`${yaml.file}:${line}:${column}: unknown field ${field} is ignored`]
  })
}
