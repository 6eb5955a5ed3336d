/**
 * Parses `HOOK.yaml`, the manifest of a hook (contract §1.1). Reports all issues at once, with their location in the file.
 */
import { z } from 'zod'
import { findClosestMatch } from '../lib/did-you-mean.ts'
import { formatYamlIssues } from '../lib/format-yaml-issues.ts'
import { isRecord } from '../lib/json.ts'
import { parseManifestYaml } from '../lib/manifest-yaml.ts'
import type { ParsedYaml } from '../lib/yaml.ts'

export interface HookManifest {
  readonly name: string
  readonly description: string
  /** The events as written, in that order, including duplicates. */
  readonly events: readonly string[]
  /** A disabled hook is listed and receives no events. */
  readonly enabled: boolean
  /** Time limit for one event in ms; defaults to the configuration. */
  readonly timeoutMs?: number | undefined
  /** Names of the environment variables of the hook; defaults to the configuration. */
  readonly env?: readonly string[] | undefined
  /** Hooks with a smaller number receive an event first. Hooks of the same priority are ordered by path. */
  readonly priority: number
  /** A file in the home. While it is absent, the hook receives no events. */
  readonly requiresFile?: string | undefined
}

export type ManifestResult =
  | { readonly ok: true; readonly manifest: HookManifest; readonly warnings: readonly string[] }
  /** One sentence each: `file:line:column: expected ..., found ...`. */
  | { readonly ok: false; readonly issues: readonly string[] }

export interface ManifestOptions {
  /** The name of the directory, which is the default name of the hook. */
  readonly folder: string
  /** Describes the issue of a subscription; `undefined` for an event that is emitted. */
  eventIssue(event: string): string | undefined
}

const maxTimeoutMs = 300_000

/** Validates a manifest and adds defaults. Keys with an invalid value that a hook can do without only warn. Never throws. */
export function parseHookManifest(text: string, file: string, options: ManifestOptions): ManifestResult {
  const yaml = parseManifestYaml(text, file)
  if (yaml.issues.length > 0) {
    return {
      ok: false,
      issues: yaml.issues.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`),
    }
  }
  const { parsed, ignored } = parseLeniently(yaml.value)
  if (!parsed.success) return { ok: false, issues: formatYamlIssues(yaml, parsed.error.issues) }
  const { name, description, events, enabled, timeout_ms, env, priority, requires_file } = parsed.data
  const manifest: HookManifest = {
    name: name ?? options.folder,
    description,
    events,
    enabled,
    priority,
    timeoutMs: timeout_ms,
    env,
    requiresFile: requires_file,
  }
  const warnings = [
    ...formatYamlIssues(yaml, ignored).map((issue) => `${issue}; the key is ignored`),
    ...unknownKeys(yaml),
    ...eventWarnings(yaml, events, options),
  ]
  return { ok: true, manifest, warnings }
}

/** Without these keys a hook works, except that it may run in another order or under another name. */
const dispensableKeys: ReadonlySet<PropertyKey> = new Set(['name', 'description', 'enabled', 'priority', 'timeout_ms'])

function parseLeniently(value: unknown) {
  const parsed = manifestSchema.safeParse(value)
  const issues = parsed.error?.issues ?? []
  const isDispensable = issues.every(({ path: [key] }) => key !== undefined && dispensableKeys.has(key))
  if (issues.length === 0 || !isDispensable || !isRecord(value)) return { parsed, ignored: [] }
  const valid = Object.entries(value).filter(([key]) => !issues.some(({ path }) => path[0] === key))
  return { parsed: manifestSchema.safeParse(Object.fromEntries(valid)), ignored: issues }
}

/** Keys that authors add and that no part of the gateway reads. */
const descriptiveKeys = ['author', 'version', 'license', 'homepage', 'tags']

function unknownKeys(yaml: ParsedYaml): string[] {
  const known = Object.keys(manifestSchema.shape)
  return Object.keys(isRecord(yaml.value) ? yaml.value : {}).flatMap((key) => {
    if (known.includes(key) || descriptiveKeys.includes(key)) return []
    const { line, column } = yaml.positionOf([key])
    const suggestion = findClosestMatch(key, known)
    const advice = suggestion === null ? '' : `; did you mean ${suggestion}?`
    return [`${yaml.file}:${line}:${column}: unknown key ${JSON.stringify(key)}${advice}`]
  })
}

/** YAML 1.1, which Hermes reads, has more words for true and false than YAML 1.2. */
function toBoolean(value: unknown): unknown {
  const word = String(value).toLowerCase()
  if (['true', 'yes', 'on', '1'].includes(word)) return true
  return ['false', 'no', 'off', '0'].includes(word) ? false : value
}

const textSchema = z.string({ error: 'expected text' })

/** Names appear in commands, logs and lists, so they must not look like paths. */
const hookNameSchema = textSchema.regex(/^[\p{L}\p{N}_][\p{L}\p{N}_ .:@-]{0,63}$/u, {
  error: 'expected a name of at most 64 letters, digits, spaces and . _ - without / or \\',
})

const eventNameSchema = textSchema.regex(/^\S{1,100}$/, {
  error: 'expected the name of an event, for example agent:end',
})

const variableNameSchema = textSchema.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'expected the name of a variable' })

/** Accepts a single value as a list of one. */
function listSchema<Item extends z.ZodType>(item: Item, error: string) {
  return z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item, { error }))
}

const manifestSchema = z.looseObject(
  {
    name: z.preprocess((value) => (typeof value === 'number' ? String(value) : value), hookNameSchema.optional()),
    description: textSchema.default(''),
    events: listSchema(eventNameSchema, 'expected a list of events, for example [agent:start, agent:end]').refine(
      (events) => events.length > 0,
      { error: 'expected at least one event' },
    ),
    enabled: z.preprocess(
      (value) => (value === undefined ? true : toBoolean(value)),
      z.boolean({ error: 'expected true or false' }),
    ),
    timeout_ms: z
      .int({ error: 'expected milliseconds as a whole number' })
      .min(1, { error: 'expected a number above 0' })
      .max(maxTimeoutMs, { error: `expected at most ${maxTimeoutMs} (5 minutes)` })
      .optional(),
    env: listSchema(variableNameSchema, 'expected a list of variable names').optional(),
    priority: z.preprocess(
      (value) => (typeof value === 'string' && /^[+-]?\d+$/.test(value) ? Number(value) : value),
      z.number({ error: 'expected a number' }).default(0),
    ),
    requires_file: textSchema
      .regex(/^(?!\/)(?!.*(?:^|\/)\.\.(?:\/|$))[^\0\\]{1,255}$/, {
        error: 'expected a path within the home, for example BOOT.md',
      })
      .optional(),
  },
  { error: 'expected the keys name, description and events' },
)

function eventWarnings(yaml: ParsedYaml, events: readonly string[], options: ManifestOptions): string[] {
  return events.flatMap((event, index) => {
    const issue =
      events.indexOf(event) < index ? `${event} is listed twice and is handled twice` : options.eventIssue(event)
    if (issue === undefined) return []
    const { line, column } = yaml.positionOf(['events', index])
    return [`${yaml.file}:${line}:${column}: ${issue}`]
  })
}
