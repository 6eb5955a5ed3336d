/**
 * Finds a configuration that can be used, whatever the files hold: the file, else the last good copy, else defaults.
 */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { readTextIfExists } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import { type Candidate, readCandidate } from './candidate.ts'
import { type Environment, openToOthers } from './environment.ts'
import type { Gap } from './gaps.ts'
import { type EnvironmentName, pathOf } from './overrides.ts'
import { type ConfigProblem, formatProblem, formatProblems } from './problem.ts'
import type { ConfigOf, ConfigShape } from './section.ts'

export interface ConfigInput<Shape extends ConfigShape> {
  readonly home: HomeLayout
  readonly shapes: Shape
  readonly environment: Environment
  readonly environmentNames: readonly EnvironmentName[]
  readonly acceptedKeys: readonly string[]
}

/** What the files and variables say right now. */
export interface Reading<Shape extends ConfigShape> {
  /** Absent when they cannot be used. */
  readonly value?: ConfigOf<Shape>
  /** What the value lacks. */
  readonly gaps: readonly Gap[]
  /** Text of config.yaml; absent when there is none or it cannot be read. */
  readonly text?: string
  /** Why there is no value, as the beginning of a sentence; '' when there is one. */
  readonly reason: string
  /** Everything that is wrong, also where a way around it was found. */
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigProblem[]
  /** Sentences about variables and lines that were left out of a value that can be used. */
  readonly ignored: readonly string[]
  readonly secrets: readonly string[]
}

/** The largest config.yaml that is read, bytes. */
const maxBytes = 1_048_576

/** Reads and checks config.yaml with its variables. Never throws. */
export function readConfig<Shape extends ConfigShape>(input: ConfigInput<Shape>): Reading<Shape> {
  const { home, environment } = input
  const file = readFile(home.configFile)
  const asked = readWithEnvironment(input, file.text ?? '', basename(home.configFile), input.environmentNames)
  const warnings = [...environment.warnings, ...asked.warnings]
  if (asked.holdsSecrets) warnings.push(...openToOthers(home.configFile))
  const usable = file.problems.length === 0 && asked.value !== undefined
  return {
    ...(usable ? { value: asked.value } : {}),
    gaps: asked.gaps,
    ...(file.text === undefined ? {} : { text: file.text }),
    reason: usable ? '' : reasonOf([...file.problems, ...asked.problems], asked.gaps),
    problems: [...environment.problems, ...file.problems, ...asked.problems],
    warnings,
    ignored: [...environment.problems.map(formatProblem), ...asked.ignored],
    secrets: asked.secrets,
  }
}

export interface Fallback<Shape extends ConfigShape> {
  readonly value: ConfigOf<Shape>
  readonly gaps: readonly Gap[]
  readonly source: 'last-good' | 'defaults'
  /** What is used instead, as the end of a sentence. */
  readonly instead: string
  readonly ignored: readonly string[]
  readonly secrets: readonly string[]
}

/**
 * The last good copy if there is one, else defaults without chat platforms. Variables count in both.
 * @throws HermesError config/invalid when a room's own defaults do not fit its types
 */
export function fallBack<Shape extends ConfigShape>(input: ConfigInput<Shape>): Fallback<Shape> {
  const { home, environmentNames } = input
  const copy = readFile(home.lastGoodConfigFile)
  if (copy.text !== undefined) {
    const { value, gaps, secrets, ignored } = readWithEnvironment(
      input,
      copy.text,
      basename(home.lastGoodConfigFile),
      environmentNames,
    )
    const since = statSync(home.lastGoodConfigFile, { throwIfNoEntry: false })?.mtime.toISOString() ?? 'earlier'
    if (value !== undefined) {
      return {
        value,
        gaps,
        secrets,
        ignored,
        source: 'last-good',
        instead: `the last good copy, of ${since}, is in use`,
      }
    }
  }
  const withoutPlatforms = environmentNames.filter((name) => pathOf(name)[0] !== 'platforms')
  const { value, gaps, secrets, ignored, problems } = readWithEnvironment(input, '', 'defaults', withoutPlatforms)
  if (value === undefined) throw new HermesError('config/invalid', formatProblems(problems))
  const instead = 'there is no good copy, so defaults are in use and no chat platform is connected'
  return { value, gaps, secrets, ignored, source: 'defaults', instead }
}

function reasonOf(problems: readonly ConfigProblem[], gaps: readonly Gap[]): string {
  const isBearable = (problem: ConfigProblem) =>
    problem.variable !== undefined || gaps.some((gap) => gap.problem === problem)
  const [first, ...more] = problems.filter((problem) => !isBearable(problem))
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  return `the configuration cannot be used: ${first === undefined ? 'the reason is not known' : formatProblem(first)}${others}`
}

interface WithEnvironment<Shape extends ConfigShape> extends Candidate<Shape> {
  /** One sentence for each variable that could not be used. */
  readonly ignored: readonly string[]
}

/** A variable that cannot be used is left out: the file without it is nearer to what was meant than a copy or defaults. */
function readWithEnvironment<Shape extends ConfigShape>(
  input: ConfigInput<Shape>,
  text: string,
  file: string,
  environmentNames: readonly EnvironmentName[],
): WithEnvironment<Shape> {
  const { shapes, environment, acceptedKeys } = input
  const first = readCandidate({ text, file, shapes, environment, environmentNames, acceptedKeys })
  const bad = first.problems.filter(({ variable }) => variable !== undefined)
  if (bad.length === 0) return { ...first, ignored: [] }
  const usable = environmentNames.filter((name) => bad.every(({ variable }) => variable !== name.variable))
  const second = readCandidate({ text, file, shapes, environment, environmentNames: usable, acceptedKeys })
  return {
    ...second,
    problems: [...bad, ...second.problems],
    secrets: first.secrets,
    ignored: bad.map((problem) => `${formatProblem(problem)}; the variable is ignored`),
  }
}

interface FileText {
  /** Absent where there is no file, or it cannot be read. */
  readonly text?: string
  readonly problems: readonly ConfigProblem[]
}

function readFile(path: string): FileText {
  try {
    const text = readTextIfExists(path, maxBytes)
    return text === undefined ? { problems: [] } : { text, problems: [] }
  } catch (error) {
    const why = systemCode(error) === 'EACCES' ? 'permission denied' : messageOf(error)
    return { problems: [{ file: basename(path), path: '', message: `the file cannot be read: ${why}` }] }
  }
}
