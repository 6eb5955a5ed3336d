/**
 * Reads the configuration, with fallbacks for an invalid file: the copy of the last valid configuration, then defaults.
 */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { readTextIfExists } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import { checkFilePermissions } from './environment.ts'
import { type ConfigEvaluation, type ConfigRules, evaluateConfig } from './evaluate-config.ts'
import { type ConfigIssue, formatIssue, formatIssues } from './issue.ts'
import { type EnvironmentBinding, pathOf } from './overrides.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import type { UnusableSetting } from './unusable-settings.ts'

export interface ConfigInput<Shape extends ConfigShape> extends ConfigRules<Shape> {
  readonly home: HomeLayout
}

/** The current content of the files and variables. */
export interface ConfigReadResult<Shape extends ConfigShape> {
  /** Absent if config.yaml cannot be read or is not a mapping in YAML. */
  readonly value?: ConfigOf<Shape>
  /** Keys of accounts without a value because it is invalid. */
  readonly unusable: readonly UnusableSetting[]
  /** Text of config.yaml. Absent if it does not exist or cannot be read. */
  readonly text?: string | undefined
  /** Why there is no value, as the beginning of a sentence. '' if there is one. */
  readonly reason: string
  /** All issues, also those with a fallback. */
  readonly issues: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** Known keys that have no effect. */
  readonly notes: readonly ConfigIssue[]
  /** Whether every value of the text is in use. */
  readonly complete: boolean
  /** Messages about values, variables and lines that are not used, and about restrictions that are not enforced. */
  readonly ignored: readonly string[]
  readonly secrets: readonly string[]
}

/** Maximum size of config.yaml, bytes. */
const maxConfigBytes = 1_048_576

/** Reads and checks config.yaml with its variables. Never throws. */
export function readConfig<Shape extends ConfigShape>(input: ConfigInput<Shape>): ConfigReadResult<Shape> {
  const { home, environment } = input
  const file = readFile(home.configFile)
  const evaluation = evaluateWithEnvironment(
    input,
    file.text ?? '',
    basename(home.configFile),
    input.environmentBindings,
  )
  const warnings = [...environment.warnings, ...evaluation.warnings]
  if (evaluation.holdsSecrets) warnings.push(...checkFilePermissions(home.configFile))
  const usable = file.issues.length === 0 && evaluation.value !== undefined
  return {
    ...(usable ? { value: evaluation.value } : {}),
    unusable: evaluation.unusable,
    text: file.text,
    complete: usable && evaluation.replaced.length === 0,
    reason: usable ? '' : reasonOf([...file.issues, ...evaluation.issues], evaluation.unusable),
    issues: [...environment.issues, ...file.issues, ...evaluation.issues],
    warnings,
    notes: evaluation.notes,
    ignored: [...environment.issues.map(formatIssue), ...evaluation.ignored, ...evaluation.unenforced.map(formatIssue)],
    secrets: evaluation.secrets,
  }
}

export interface FallbackConfig<Shape extends ConfigShape> {
  readonly value: ConfigOf<Shape>
  readonly unusable: readonly UnusableSetting[]
  readonly source: 'last-good' | 'defaults'
  /** The fallback, as the end of a sentence. */
  readonly description: string
  readonly ignored: readonly string[]
  readonly secrets: readonly string[]
}

/**
 * Returns the copy of the last valid configuration if there is one, otherwise defaults without chat platforms. Environment
 * variables apply to both.
 * @throws HermesError config/invalid if the defaults of a module do not match its schema
 */
export function loadFallback<Shape extends ConfigShape>(input: ConfigInput<Shape>): FallbackConfig<Shape> {
  const { home, environmentBindings } = input
  const copy = readFile(home.lastGoodConfigFile)
  if (copy.text !== undefined) {
    const { value, unusable, secrets, ignored } = evaluateWithEnvironment(
      input,
      copy.text,
      basename(home.lastGoodConfigFile),
      environmentBindings,
    )
    const since = statSync(home.lastGoodConfigFile, { throwIfNoEntry: false })?.mtime.toISOString() ?? 'earlier'
    if (value !== undefined) {
      return {
        value,
        unusable,
        secrets,
        ignored,
        source: 'last-good',
        description: `the last valid configuration, of ${since}, is in use`,
      }
    }
  }
  const withoutPlatforms = environmentBindings.filter((name) => pathOf(name)[0] !== 'platforms')
  const { value, unusable, secrets, ignored, issues } = evaluateWithEnvironment(input, '', 'defaults', withoutPlatforms)
  if (value === undefined) throw new HermesError('config/invalid', formatIssues(issues))
  const description = 'there is no copy of a valid one, so defaults are in use and no chat platform is connected'
  return { value, unusable, secrets, ignored, source: 'defaults', description }
}

function reasonOf(issues: readonly ConfigIssue[], unusable: readonly UnusableSetting[]): string {
  const isTolerated = (issue: ConfigIssue) =>
    issue.variable !== undefined || unusable.some((key) => key.issue === issue)
  const [first, ...more] = issues.filter((issue) => !isTolerated(issue))
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  return `the configuration is invalid: ${first === undefined ? 'unknown reason' : formatIssue(first)}${others}`
}

interface EnvironmentEvaluation<Shape extends ConfigShape> extends ConfigEvaluation<Shape> {
  /** One message per ignored variable. */
  readonly ignored: readonly string[]
}

/** Ignores invalid variables: the file without them is closer to the intention than defaults. */
function evaluateWithEnvironment<Shape extends ConfigShape>(
  input: ConfigInput<Shape>,
  text: string,
  file: string,
  environmentBindings: readonly EnvironmentBinding[],
): EnvironmentEvaluation<Shape> {
  const { shapes, environment, unusedKeys, keyAliases, safeValues } = input
  const common = { text, file, shapes, environment, unusedKeys, keyAliases, safeValues }
  const first = evaluateConfig({ ...common, environmentBindings })
  // A safe value also replaces that of a variable.
  const replacedSafely = first.replaced.filter((issue) => issue.safeValues.length > 0).map(({ issue }) => issue)
  const bad = first.issues.filter((issue) => issue.variable !== undefined && !replacedSafely.includes(issue))
  if (bad.length === 0) return { ...first, ignored: first.replaced.map(describeReplacement) }
  const usable = environmentBindings.filter((name) => bad.every(({ variable }) => variable !== name.variable))
  const second = evaluateConfig({ ...common, environmentBindings: usable })
  return {
    ...second,
    issues: [...bad, ...second.issues],
    secrets: first.secrets,
    ignored: [
      ...bad.map((issue) => `${formatIssue(issue)}; the variable is ignored`),
      ...second.replaced.map(describeReplacement),
    ],
  }
}

function describeReplacement({ issue, safeValues, isItem }: ConfigEvaluation<ConfigShape>['replaced'][number]): string {
  if (safeValues.length === 0) return `${formatIssue(issue)}; ${isItem ? 'the item is ignored' : 'the default is used'}`
  const used = safeValues.map(
    ({ key, set, value, effect }) => effect ?? `\`${set ?? key}\` is ${JSON.stringify(value)}`,
  )
  return `${formatIssue(issue)}; until it is corrected, ${[...new Set(used)].join(' and ')}`
}

interface FileReadResult {
  /** Absent if the file does not exist or cannot be read. */
  readonly text?: string
  readonly issues: readonly ConfigIssue[]
}

function readFile(path: string): FileReadResult {
  try {
    const text = readTextIfExists(path, maxConfigBytes)
    return text === undefined ? { issues: [] } : { text, issues: [] }
  } catch (error) {
    const reason = systemCode(error) === 'EACCES' ? 'permission denied' : messageOf(error)
    return { issues: [{ file: basename(path), path: '', message: `the file cannot be read: ${reason}` }] }
  }
}
