/**
 * Finds a configuration that can be used, whatever the files hold: the file, else the last good copy, else defaults.
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
import type { UnresolvedVariable } from './unresolved-variables.ts'

export interface ConfigInput<Shape extends ConfigShape> {
  readonly home: HomeLayout
  readonly shapes: Shape
  readonly environment: Environment
  readonly environmentBindings: readonly EnvironmentBinding[]
  readonly acceptedKeys: readonly string[]
}

/** What the files and variables say right now. */
export interface ConfigReadResult<Shape extends ConfigShape> {
  /** Absent when they cannot be used. */
  readonly value?: ConfigOf<Shape>
  /** What the value lacks. */
  readonly unresolved: readonly UnresolvedVariable[]
  /** Text of config.yaml; absent when there is none or it cannot be read. */
  readonly text?: string
  /** Why there is no value, as the beginning of a sentence; '' when there is one. */
  readonly reason: string
  /** Everything that is wrong, also where a way around it was found. */
  readonly issues: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** Sentences about variables and lines that were left out of a value that can be used. */
  readonly ignored: readonly string[]
  readonly secrets: readonly string[]
}

/** The largest config.yaml that is read, bytes. */
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
    ignored: [...environment.issues.map(formatIssue), ...evaluation.ignored],
    secrets: evaluation.secrets,
  }
}

export interface FallbackConfig<Shape extends ConfigShape> {
  readonly value: ConfigOf<Shape>
  readonly unresolved: readonly UnresolvedVariable[]
  readonly source: 'last-good' | 'defaults'
  /** What is used instead, as the end of a sentence. */
  readonly description: string
  readonly ignored: readonly string[]
  readonly secrets: readonly string[]
}

/**
 * The last good copy if there is one, else defaults without chat platforms. Variables count in both.
 * @throws HermesError config/invalid when a room's own defaults do not fit its types
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
        description: `the last good copy, of ${since}, is in use`,
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
  const description = 'there is no good copy, so defaults are in use and no chat platform is connected'
  return { value, unresolved, secrets, ignored, source: 'defaults', description }
}

function reasonOf(problems: readonly ConfigIssue[], gaps: readonly UnresolvedVariable[]): string {
  const isBearable = (problem: ConfigIssue) =>
    problem.variable !== undefined || gaps.some((gap) => gap.issue === problem)
  const [first, ...more] = problems.filter((problem) => !isBearable(problem))
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  return `the configuration cannot be used: ${first === undefined ? 'the reason is not known' : formatIssue(first)}${others}`
}

interface EnvironmentEvaluation<Shape extends ConfigShape> extends ConfigEvaluation<Shape> {
  /** One sentence for each variable that could not be used. */
  readonly ignored: readonly string[]
}

/** A variable that cannot be used is left out: the file without it is nearer to what was meant than a copy or defaults. */
function evaluateWithEnvironment<Shape extends ConfigShape>(
  input: ConfigInput<Shape>,
  text: string,
  file: string,
  environmentBindings: readonly EnvironmentBinding[],
): EnvironmentEvaluation<Shape> {
  const { shapes, environment, acceptedKeys } = input
  const first = evaluateConfig({ text, file, shapes, environment, environmentBindings, acceptedKeys })
  const bad = first.issues.filter(({ variable }) => variable !== undefined)
  if (bad.length === 0) return { ...first, ignored: [] }
  const usable = environmentBindings.filter((name) => bad.every(({ variable }) => variable !== name.variable))
  const second = evaluateConfig({ text, file, shapes, environment, environmentBindings: usable, acceptedKeys })
  return {
    ...second,
    issues: [...bad, ...second.issues],
    secrets: first.secrets,
    ignored: bad.map((problem) => `${formatIssue(problem)}; the variable is ignored`),
  }
}

interface FileReadResult {
  /** Absent where there is no file, or it cannot be read. */
  readonly text?: string
  readonly issues: readonly ConfigIssue[]
}

function readFile(path: string): FileReadResult {
  try {
    const text = readTextIfExists(path, maxConfigBytes)
    return text === undefined ? { issues: [] } : { text, issues: [] }
  } catch (error) {
    const why = systemCode(error) === 'EACCES' ? 'permission denied' : messageOf(error)
    return { issues: [{ file: basename(path), path: '', message: `the file cannot be read: ${why}` }] }
  }
}
