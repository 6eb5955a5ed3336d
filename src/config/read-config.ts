/**
 * Reads the configuration, with fallbacks for an invalid file: the copy of the last valid configuration, then defaults.
 */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { readTextIfExists } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import { checkFilePermissions, type Environment } from './environment.ts'
import { type ConfigEvaluation, evaluateConfig } from './evaluate-config.ts'
import { type ConfigIssue, formatIssue, formatIssues } from './issue.ts'
import { type EnvironmentBinding, pathOf } from './overrides.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import type { UnusedKey } from './unknown-keys.ts'
import type { UnresolvedVariable } from './unresolved-variables.ts'

export interface ConfigInput<Shape extends ConfigShape> {
  readonly home: HomeLayout
  readonly shapes: Shape
  readonly environment: Environment
  readonly environmentBindings: readonly EnvironmentBinding[]
  readonly unusedKeys: readonly UnusedKey[]
}

/** The current content of the files and variables. */
export interface ConfigReadResult<Shape extends ConfigShape> {
  /** Absent if they are invalid. */
  readonly value?: ConfigOf<Shape>
  /** Keys without a value because of an unset variable. */
  readonly unresolved: readonly UnresolvedVariable[]
  /** Text of config.yaml. Absent if it does not exist or cannot be read. */
  readonly text?: string
  /** Why there is no value, as the beginning of a sentence. '' if there is one. */
  readonly reason: string
  /** All issues, also those with a fallback. */
  readonly issues: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** Known keys that have no effect. */
  readonly notes: readonly ConfigIssue[]
  /** Messages about variables and lines that were ignored, and about restrictions that are not enforced. */
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
    unresolved: evaluation.unresolved,
    ...(file.text === undefined ? {} : { text: file.text }),
    reason: usable ? '' : reasonOf([...file.issues, ...evaluation.issues], evaluation.unresolved),
    issues: [...environment.issues, ...file.issues, ...evaluation.issues],
    warnings,
    notes: evaluation.notes,
    ignored: [...environment.issues.map(formatIssue), ...evaluation.ignored, ...evaluation.unenforced.map(formatIssue)],
    secrets: evaluation.secrets,
  }
}

export interface FallbackConfig<Shape extends ConfigShape> {
  readonly value: ConfigOf<Shape>
  readonly unresolved: readonly UnresolvedVariable[]
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
    const { value, unresolved, secrets, ignored } = evaluateWithEnvironment(
      input,
      copy.text,
      basename(home.lastGoodConfigFile),
      environmentBindings,
    )
    const since = statSync(home.lastGoodConfigFile, { throwIfNoEntry: false })?.mtime.toISOString() ?? 'earlier'
    if (value !== undefined) {
      return {
        value,
        unresolved,
        secrets,
        ignored,
        source: 'last-good',
        description: `the last valid configuration, of ${since}, is in use`,
      }
    }
  }
  const withoutPlatforms = environmentBindings.filter((name) => pathOf(name)[0] !== 'platforms')
  const { value, unresolved, secrets, ignored, issues } = evaluateWithEnvironment(
    input,
    '',
    'defaults',
    withoutPlatforms,
  )
  if (value === undefined) throw new HermesError('config/invalid', formatIssues(issues))
  const description = 'there is no copy of a valid one, so defaults are in use and no chat platform is connected'
  return { value, unresolved, secrets, ignored, source: 'defaults', description }
}

function reasonOf(issues: readonly ConfigIssue[], unresolved: readonly UnresolvedVariable[]): string {
  const isTolerated = (issue: ConfigIssue) =>
    issue.variable !== undefined || unresolved.some((key) => key.issue === issue)
  const [first, ...more] = issues.filter((issue) => !isTolerated(issue))
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  return `the configuration is invalid: ${first === undefined ? 'unknown reason' : formatIssue(first)}${others}`
}

interface EnvironmentEvaluation<Shape extends ConfigShape> extends ConfigEvaluation<Shape> {
  /** One message per ignored variable. */
  readonly ignored: readonly string[]
}

/** Ignores invalid variables: the file without them is closer to the intention than a copy or defaults. */
function evaluateWithEnvironment<Shape extends ConfigShape>(
  input: ConfigInput<Shape>,
  text: string,
  file: string,
  environmentBindings: readonly EnvironmentBinding[],
): EnvironmentEvaluation<Shape> {
  const { shapes, environment, unusedKeys } = input
  const first = evaluateConfig({ text, file, shapes, environment, environmentBindings, unusedKeys })
  const bad = first.issues.filter(({ variable }) => variable !== undefined)
  if (bad.length === 0) return { ...first, ignored: [] }
  const usable = environmentBindings.filter((name) => bad.every(({ variable }) => variable !== name.variable))
  const second = evaluateConfig({ text, file, shapes, environment, environmentBindings: usable, unusedKeys })
  return {
    ...second,
    issues: [...bad, ...second.issues],
    secrets: first.secrets,
    ignored: bad.map((issue) => `${formatIssue(issue)}; the variable is ignored`),
  }
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
