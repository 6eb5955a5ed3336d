/**
 * `plugin.yaml` of a platform: what the gateway must know before it runs the platform's code. Nothing in `src/` names a
 * platform, so all differences between platforms are declared here.
 */
import { z } from 'zod'
import { formatYamlIssues, type ValueIssue } from '../lib/format-yaml-issues.ts'
import { parseManifestYaml } from '../lib/manifest-yaml.ts'
import { isReservedPlatform } from '../message/source.ts'
import type { MessageLimits } from './adapter.ts'

export interface PlatformManifest {
  /** The name in the configuration, in session keys and in addresses. */
  readonly name: string
  /** The name for users. */
  readonly label: string
  readonly description: string
  readonly version: string
  /**
   * `token`: every user has the gateway's token or its terminal. `allowlist`: the access rules decide. `own`: the adapter verifies
   * each sender, who is then a guest unless `roles` says otherwise.
   */
  readonly access: 'token' | 'allowlist' | 'own'
  /** The prefix of typed commands. */
  readonly commandPrefix: string
  /** False: no gateway events are emitted for this platform. */
  readonly gatewayEvents: boolean
  /** `scope_id`: the guild or workspace is part of the session key. */
  readonly sessionScope: 'none' | 'scope_id'
  readonly limits: MessageLimits
  /** What the platform can show, for the model: one or two sentences. */
  readonly promptHint?: string | undefined
  /** False: its chats take only answers, so that no message can be sent to them. */
  readonly takesMessages: boolean
  /** The toolset of its conversations, unless `platform_toolsets` has an entry. Absent: `toolsets`. */
  readonly toolset?: string | undefined
  /** Environment variables that set options. */
  readonly environment: readonly EnvironmentVariable[]
  readonly options: readonly PlatformOption[]
  /** Enabled even if the configuration does not mention it. */
  readonly defaultEnabled: boolean
  /** Several bot identities can be configured. */
  readonly accounts: boolean
  /** Options that an account needs to connect. When all of them are set, the platform is enabled. */
  readonly required: readonly string[]
  /**
   * The roles of the platform that `roles.owners`, `roles.members` and `roles.guests` may name: `admins`, or with a
   * placeholder `role:<role id>`. The adapter has `heldRoles`.
   */
  readonly userRoles?: readonly string[] | undefined
  readonly setup: PlatformSetup
}

/** What a person is asked for, on the page and by `hermes setup`. */
export interface PlatformSetup {
  /** Options of the types `string` and `number`; without any the platform is not offered. */
  readonly fields: readonly string[]
  /** What is done first on the pages of the platform. */
  readonly steps: readonly SetupStep[]
}

export interface SetupStep {
  readonly text: string
  /** `{app_manifest}` in it stands for what `PlatformModule.appManifest` returns. */
  readonly url?: string | undefined
}

interface EnvironmentVariable {
  readonly variable: string
  readonly key: string
  readonly kind: 'string' | 'number' | 'boolean' | 'list'
}

export interface PlatformOption {
  readonly key: string
  readonly type: 'string' | 'number' | 'boolean' | 'list' | 'map'
  /** Absent: the option has no value unless it is configured. */
  readonly default?: unknown | undefined
  readonly description: string
  /** Never shown. */
  readonly secret: boolean
  readonly enum?: readonly (string | number)[] | undefined
}

export type ManifestResult =
  | { readonly kind: 'platform'; readonly manifest: PlatformManifest }
  /** A plugin of another kind. */
  | { readonly kind: 'other' }
  /** One text each: `file:line:column: key: expected ..., found ...`. */
  | { readonly kind: 'invalid'; readonly issues: readonly string[] }

/** Keys of every platform, which an option cannot redefine. */
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

/** Validates a manifest and adds defaults. Unknown fields are ignored. Never throws. */
export function parseManifest(text: string, file: string): ManifestResult {
  const yaml = parseManifestYaml(text, file)
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

const textSchema = z.string({ error: 'expected a string' })
const booleanSchema = z.boolean({ error: 'expected true or false' })
const enumSchema = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `expected ${values.join(' or ')}` })
/** The error of a mapping, and of its keys if they must match a pattern. */
const mappingError = (members: string, keys = '') => ({
  error: ({ code }: { readonly code: string }) =>
    `expected ${code === 'invalid_key' ? keys : `a mapping of ${members}`}`,
})

const optionSchema = z.looseObject(
  {
    type: enumSchema(['string', 'number', 'boolean', 'list', 'map']),
    default: z.unknown().optional(),
    description: textSchema.default(''),
    required: booleanSchema.default(false),
    secret: booleanSchema.default(false),
    enum: z
      .array(z.union([z.string(), z.number()], { error: 'expected a string or a number' }), {
        error: 'expected a list of allowed values',
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
        error: 'expected a name of at most 32 lower-case letters, digits, - and _ that begins with a letter',
      })
      .refine((name) => !isReservedPlatform(name), {
        error: 'expected another name: the gateway uses this one itself',
      }),
    kind: z.literal('platform', { error: 'expected kind: platform' }),
    label: textSchema.optional(),
    description: textSchema.default(''),
    version: z
      .union([z.string(), z.number()], { error: 'expected a version, for example 1.0.0' })
      .transform(String)
      .default('0.0.0'),
    access: enumSchema(['token', 'allowlist', 'own']).default('allowlist'),
    command_prefix: textSchema
      .regex(/^\S{1,3}$/, { error: 'expected one to three characters, for example /' })
      .default('/'),
    gateway_events: booleanSchema.default(true),
    session_scope: enumSchema(['none', 'scope_id']).default('none'),
    takes_messages: booleanSchema.default(true),
    limits: z
      .looseObject(
        {
          max_chars: z.int({ error: 'expected a whole number' }).min(1, { error: 'expected a number above 0' }),
          unit: enumSchema(['utf16', 'codepoints', 'bytes']).default('utf16'),
        },
        mappingError('max_chars and unit'),
      )
      .optional(),
    prompt_hint: textSchema.max(500, { error: 'expected at most 500 characters' }).default(''),
    toolset: textSchema.regex(/^[a-z][a-z0-9_-]*$/, { error: 'expected the name of a toolset' }).optional(),
    environment: z
      .record(
        z.string().regex(/^[A-Z][A-Z0-9_]*$/),
        z.looseObject(
          { key: textSchema, kind: enumSchema(['string', 'number', 'boolean', 'list']).default('string') },
          mappingError('key and kind'),
        ),
        mappingError('VARIABLE: {key, kind}', 'the name of a variable in upper-case letters'),
      )
      .default({}),
    config_schema: z
      .record(
        z.string().regex(/^[a-z][a-z0-9_]*$/),
        optionSchema,
        mappingError('option: {type, ...}', 'the name of an option in lower-case letters, digits and _'),
      )
      .default({}),
    default_enabled: booleanSchema.optional(),
    accounts: booleanSchema.default(false),
    required: z.array(textSchema, { error: 'expected a list of options' }).default([]),
    user_roles: z
      .array(textSchema.regex(/^[a-z_]+(?::<[^<>]+>)?$/, { error: 'expected a name, or name:<placeholder>' }), {
        error: 'expected a list of roles',
      })
      .default([]),
    setup: z
      .looseObject(
        {
          fields: z.array(textSchema, { error: 'expected a list of options' }).optional(),
          steps: z
            .array(
              z.looseObject(
                {
                  text: textSchema,
                  url: z.url({ protocol: /^https$/, error: 'expected an https address' }).optional(),
                },
                mappingError('text and url'),
              ),
              { error: 'expected a list of steps' },
            )
            .default([]),
        },
        mappingError('fields and steps'),
      )
      .default({ steps: [] }),
  },
  mappingError('the fields of a platform'),
)

type ManifestFile = z.output<typeof manifestSchema>
type OptionFile = z.output<typeof optionSchema>

/** Contradictions between fields that are valid on their own. */
function crossFieldIssues(file: ManifestFile): ValueIssue[] {
  const issues: ValueIssue[] = []
  const known = new Set(Object.keys(file.config_schema))
  const options = `an option of config_schema (${[...known].join(', ') || 'none'})`
  for (const [key, option] of Object.entries(file.config_schema)) {
    const path = ['config_schema', key]
    // `enabled` is allowed: its default is another form of `default_enabled`.
    if (key !== 'enabled' && reservedKeys.some((common) => common === key)) {
      issues.push({ path, message: 'expected another name: every platform has this key' })
    }
    if (option.default !== undefined && !matchesType(option, option.default)) {
      issues.push({ path: [...path, 'default'], message: `expected ${describeType(option)}` })
    }
  }
  file.required.forEach((key, index) => {
    if (!known.has(key)) issues.push({ path: ['required', index], message: `expected ${options}` })
  })
  file.setup.fields?.forEach((key, index) => {
    if (!isTyped(file.config_schema[key]))
      issues.push({ path: ['setup', 'fields', index], message: `expected ${options} of type string or number` })
  })
  for (const [variable, { key }] of Object.entries(file.environment)) {
    if (!known.has(key)) issues.push({ path: ['environment', variable, 'key'], message: `expected ${options}` })
  }
  return issues
}

/** Whether a person can type the value. */
function isTyped(option: Pick<OptionFile, 'type'> | undefined): boolean {
  return option?.type === 'string' || option?.type === 'number'
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
    takesMessages: file.takes_messages,
    limits: { maxChars: file.limits?.max_chars ?? 4_000, unit: file.limits?.unit ?? 'utf16' },
    environment: Object.entries(file.environment).map(([variable, { key, kind }]) => ({ variable, key, kind })),
    options: Object.entries(options).map(([key, option]) => toOption(key, option)),
    defaultEnabled: file.default_enabled ?? enabled?.default === true,
    accounts: file.accounts,
    required,
    ...(file.prompt_hint.trim() === '' ? {} : { promptHint: file.prompt_hint.trim() }),
    toolset: file.toolset,
    ...(file.user_roles.length === 0 ? {} : { userRoles: file.user_roles }),
    setup: {
      fields: file.setup.fields ?? (required.every((key) => isTyped(options[key])) ? required : []),
      steps: file.setup.steps.map(({ text, url }) => ({ text, url })),
    },
  }
}

function toOption(key: string, option: OptionFile): PlatformOption {
  const { type, description, secret } = option
  return {
    key,
    type,
    description,
    secret,
    default: option.default,
    enum: option.enum,
  }
}

function isOtherPluginKind(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  return typeof value.kind === 'string' && value.kind !== 'platform'
}
