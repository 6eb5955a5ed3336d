/**
 * `plugin.yaml` of a platform: what the engine must know of it without running its code.
 * Nothing in `src/` names a platform; whatever differs between two of them is said here.
 */
import { z } from 'zod'
import { formatYamlIssues, type ValueIssue } from '../lib/format-yaml-issues.ts'
import { parseYaml } from '../lib/yaml.ts'
import { backgroundPlatform } from '../message/source.ts'
import type { MessageLimits } from './adapter.ts'

export interface PlatformManifest {
  /** How the platform is called in the config, in session keys and in addresses. */
  readonly name: string
  /** The name people read. */
  readonly label: string
  readonly description: string
  readonly version: string
  /** `token`: whoever reaches it holds the gateway's token or sits at its terminal; `allowlist`: the rules decide. */
  readonly access: 'token' | 'allowlist'
  /** How a command begins when somebody types it there. */
  readonly commandPrefix: string
  /** False: what happens there is no gateway event for hooks. */
  readonly gatewayEvents: boolean
  /** `scope_id`: the guild or workspace is a part of the session key. */
  readonly sessionScope: 'none' | 'scope_id'
  readonly limits: MessageLimits
  /** Variables that set an option. */
  readonly environment: readonly EnvironmentVariable[]
  readonly options: readonly PlatformOption[]
  /** On although the config does not mention it. */
  readonly defaultEnabled: boolean
  /** Several bot identities can be configured. */
  readonly accounts: boolean
  /** Options without which an account cannot connect; when all of them are set, the platform is on. */
  readonly required: readonly string[]
}

interface EnvironmentVariable {
  readonly variable: string
  readonly key: string
  readonly kind: 'string' | 'number' | 'boolean' | 'list'
}

export interface PlatformOption {
  readonly key: string
  readonly type: 'string' | 'number' | 'boolean' | 'list' | 'map'
  /** Absent: the option may be left out and has no value then. */
  readonly default?: unknown
  readonly description: string
  /** Never shown. */
  readonly secret: boolean
  readonly enum?: readonly (string | number)[]
}

export type ManifestResult =
  | { readonly kind: 'platform'; readonly manifest: PlatformManifest }
  /** A plugin of another kind: none of our business. */
  | { readonly kind: 'other' }
  /** One sentence each: `file:line:column: what was expected, what was found`. */
  | { readonly kind: 'invalid'; readonly issues: readonly string[] }

/** Every platform has these; an option cannot take their names. */
const reservedKeys = [
  'enabled',
  'allow_from',
  'group_allow_from',
  'group_allowed_chats',
  'allow_all_users',
  'allow_bots',
  'home_channel',
  'edits',
  'reply_to_mode',
  'typing_indicator',
  'accounts',
  'extra',
] as const

/** Checks a manifest and fills in what it leaves out; fields it does not know are left alone. Never throws. */
export function parseManifest(text: string, file: string): ManifestResult {
  const yaml = parseYaml(text, file)
  if (yaml.issues.length > 0) {
    const issues = yaml.issues.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`)
    return { kind: 'invalid', issues }
  }
  if (isOtherPluginKind(yaml.value)) return { kind: 'other' }
  const parsed = manifestSchema.safeParse(yaml.value)
  if (!parsed.success) {
    return { kind: 'invalid', issues: formatYamlIssues(yaml, parsed.error.issues) }
  }
  const contradictions = crossFieldIssues(parsed.data)
  if (contradictions.length > 0) return { kind: 'invalid', issues: formatYamlIssues(yaml, contradictions) }
  return { kind: 'platform', manifest: toManifest(parsed.data) }
}

const textSchema = z.string({ error: 'expected a text' })
const booleanSchema = z.boolean({ error: 'expected true or false' })
const enumSchema = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `expected ${values.join(' or ')}` })
/** Errors of a mapping, and of its keys where they follow a rule. */
const mappingError = (what: string, keys = '') => ({
  error: ({ code }: { readonly code: string }) => `expected ${code === 'invalid_key' ? keys : `a mapping of ${what}`}`,
})

const optionSchema = z.looseObject(
  {
    type: enumSchema(['string', 'number', 'boolean', 'list', 'map']),
    default: z.unknown().optional(),
    description: textSchema.default(''),
    required: booleanSchema.default(false),
    secret: booleanSchema.default(false),
    enum: z
      .array(z.union([z.string(), z.number()], { error: 'expected a text or a number' }), {
        error: 'expected a list of the values that are allowed',
      })
      .min(1, { error: 'expected at least one allowed value' })
      .optional(),
  },
  mappingError('type, default, description, required, secret and enum'),
)

const manifestSchema = z.looseObject(
  {
    name: textSchema
      .regex(/^[a-z][a-z0-9_-]{0,31}$/, {
        error: 'expected a name of at most 32 small letters, digits, - and _ that begins with a letter',
      })
      .refine((name) => name !== backgroundPlatform, {
        error: 'expected another name: the gateway itself is called so',
      }),
    kind: z.literal('platform', { error: 'expected kind: platform' }),
    label: textSchema.optional(),
    description: textSchema.default(''),
    version: z
      .union([z.string(), z.number()], { error: 'expected a version, for example 1.0.0' })
      .transform(String)
      .default('0.0.0'),
    access: enumSchema(['token', 'allowlist']).default('allowlist'),
    command_prefix: textSchema
      .regex(/^\S{1,3}$/, { error: 'expected one to three characters, for example /' })
      .default('/'),
    gateway_events: booleanSchema.default(true),
    session_scope: enumSchema(['none', 'scope_id']).default('none'),
    limits: z
      .looseObject(
        {
          max_chars: z.int({ error: 'expected a whole number' }).min(1, { error: 'expected a number above 0' }),
          unit: enumSchema(['utf16', 'codepoints', 'bytes']).default('utf16'),
        },
        mappingError('max_chars and unit'),
      )
      .optional(),
    environment: z
      .record(
        z.string().regex(/^[A-Z][A-Z0-9_]*$/),
        z.looseObject(
          { key: textSchema, kind: enumSchema(['string', 'number', 'boolean', 'list']).default('string') },
          mappingError('key and kind'),
        ),
        mappingError('VARIABLE: {key, kind}', 'the name of a variable in capital letters'),
      )
      .default({}),
    config_schema: z
      .record(
        z.string().regex(/^[a-z][a-z0-9_]*$/),
        optionSchema,
        mappingError('option: {type, …}', 'the name of an option in small letters, digits and _'),
      )
      .default({}),
    default_enabled: booleanSchema.optional(),
    accounts: booleanSchema.default(false),
    required: z.array(textSchema, { error: 'expected a list of options' }).default([]),
  },
  mappingError('the fields of a platform'),
)

type ManifestFile = z.output<typeof manifestSchema>
type OptionFile = z.output<typeof optionSchema>

/** What each field allows but all of them together do not. */
function crossFieldIssues(file: ManifestFile): ValueIssue[] {
  const found: ValueIssue[] = []
  const known = new Set(Object.keys(file.config_schema))
  const options = `an option of config_schema (${[...known].join(', ') || 'it has none'})`
  for (const [key, option] of Object.entries(file.config_schema)) {
    const path = ['config_schema', key]
    // `enabled` may be described there, because users look for it there.
    if (key !== 'enabled' && reservedKeys.some((common) => common === key)) {
      found.push({ path, message: 'expected another name: every platform has this key already' })
    }
    if (option.default !== undefined && !matchesType(option, option.default)) {
      found.push({ path: [...path, 'default'], message: `expected ${describeType(option)}` })
    }
  }
  file.required.forEach((key, index) => {
    if (!known.has(key)) found.push({ path: ['required', index], message: `expected ${options}` })
  })
  for (const [variable, { key }] of Object.entries(file.environment)) {
    if (!known.has(key)) found.push({ path: ['environment', variable, 'key'], message: `expected ${options}` })
  }
  return found
}

function matchesType(option: Pick<OptionFile, 'type' | 'enum'>, value: unknown): boolean {
  if (option.type === 'list') return Array.isArray(value)
  if (option.type === 'map') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (typeof value !== option.type) return false
  return option.enum === undefined || option.enum.some((allowed) => allowed === value)
}

function describeType({ type, enum: allowed }: OptionFile): string {
  return allowed === undefined ? `a value of type ${type}` : `one of ${allowed.join(', ')}`
}

function toManifest(file: ManifestFile): PlatformManifest {
  const { enabled, ...options } = file.config_schema
  const required = Object.keys(options).filter((key) => options[key]?.required === true || file.required.includes(key))
  return {
    name: file.name,
    label: file.label ?? file.name,
    description: file.description,
    version: file.version,
    access: file.access,
    commandPrefix: file.command_prefix,
    gatewayEvents: file.gateway_events,
    sessionScope: file.session_scope,
    limits: { maxChars: file.limits?.max_chars ?? 4_000, unit: file.limits?.unit ?? 'utf16' },
    environment: Object.entries(file.environment).map(([variable, { key, kind }]) => ({ variable, key, kind })),
    options: Object.entries(options).map(([key, option]) => toOption(key, option)),
    defaultEnabled: file.default_enabled ?? enabled?.default === true,
    accounts: file.accounts,
    required,
  }
}

function toOption(key: string, option: OptionFile): PlatformOption {
  const { type, description, secret } = option
  return {
    key,
    type,
    description,
    secret,
    ...(option.default === undefined ? {} : { default: option.default }),
    ...(option.enum === undefined ? {} : { enum: option.enum }),
  }
}

function isOtherPluginKind(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  return typeof value.kind === 'string' && value.kind !== 'platform'
}
