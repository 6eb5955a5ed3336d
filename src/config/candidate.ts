/**
 * One text of the configuration with one environment: either a value that can be used, or everything that is wrong.
 */
import { createRedactor } from '../lib/redact.ts'
import { type ParsedYaml, type PathPart, type Position, parseYaml } from '../lib/yaml.ts'
import type { Environment } from './environment.ts'
import { accountKeyOf, type Gap } from './gaps.ts'
import { applyOverrides, type EnvironmentName, kindAt, type Override, readText, typeAt } from './overrides.ts'
import { type ConfigProblem, dotted } from './problem.ts'
import { resolveReferences } from './references.ts'
import { isWriteOnly } from './schema-view.ts'
import { isSecretName, secretsIn, secretsOfEnvironment } from './secrets.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import { isTree, valueAt, withoutKey, withValue } from './tree.ts'
import { separateUnknown, type UnknownKey } from './unknown-keys.ts'
import { validate } from './validate.ts'

export interface CandidateInput<Shape extends ConfigShape> {
  readonly text: string
  /** The name that problems carry. */
  readonly file: string
  readonly shapes: Shape
  readonly environment: Environment
  readonly environmentNames: readonly EnvironmentName[]
  /** Dotted keys that no room reads but users may have. */
  readonly acceptedKeys: readonly string[]
}

export interface Candidate<Shape extends ConfigShape> {
  /** Absent when there are problems other than gaps. */
  readonly value?: ConfigOf<Shape>
  /** What the value lacks; each is among the problems, too. */
  readonly gaps: readonly Gap[]
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigProblem[]
  /** What must not be shown, whether the value can be used or not. */
  readonly secrets: readonly string[]
  /** The text itself holds secrets, not only references to variables. */
  readonly holdsSecrets: boolean
}

/** Never throws. */
export function readCandidate<Shape extends ConfigShape>(input: CandidateInput<Shape>): Candidate<Shape> {
  const { text, file, shapes, environment, environmentNames, acceptedKeys } = input
  const yaml = parseYaml(text, file)
  const fromEnvironment = secretsOfEnvironment(environment.values)
  if (yaml.problems.length > 0) return unusable(yaml.problems.map(syntaxProblem), fromEnvironment)
  const root = yaml.value ?? {}
  if (!isTree(root)) return unusable([notKeys(yaml)], fromEnvironment)

  const { tree: resolved, references, undefinedNames } = resolveReferences(root, environment.values)
  let tree = resolved
  for (const { path, whole } of references) {
    const kind = whole ? kindAt(shapes, path) : undefined
    const value = valueAt(tree, path)
    if (kind !== undefined && typeof value === 'string') tree = withValue(tree, path, readText(value, kind))
  }
  // In a key that no room reads, ${X} may be meant for somebody else: a shell command, a template.
  const isRead = ({ path }: { path: readonly PathPart[] }) => typeAt(shapes, path) !== undefined
  const unread = undefinedNames.filter((reference) => !isRead(reference))
  const missing = undefinedNames
    .filter(isRead)
    .map(({ path, name }) => ({ path, name, problem: undefinedProblem(yaml, path, name) }))
  const bearable = missing.flatMap(({ path, name, problem }): Gap[] => {
    const key = accountKeyOf(path)
    return key === undefined ? [] : [{ path: key, reason: unsetReason(problem, name), problem }]
  })
  for (const { path } of bearable) tree = withoutKey(tree, path)
  const separated = separateUnknown(tree, shapes, acceptedKeys)
  const overridden = applyOverrides(separated.tree, environmentNames, environment, shapes)
  const isHidden = (path: readonly string[]) => {
    const type = typeAt(shapes, path)
    return type !== undefined && isWriteOnly(type)
  }
  // What nothing was put in for is a name, and the one that people have to read.
  const unset = new Set(undefinedNames.map(({ name }) => `\${${name}}`))
  const secrets = [
    ...fromEnvironment,
    ...secretsIn(resolved, isHidden),
    ...secretsIn(overridden.tree, isHidden),
  ].filter((secret) => !unset.has(secret))
  const fromSecrets = [
    ...references.filter(({ names }) => names.some(isSecretName)),
    ...overridden.overrides.filter(({ variable }) => isSecretName(variable)),
  ]
  const checked = validate(overridden.tree, shapes, {
    redact: createRedactor({ secrets: () => secrets }),
    isHidden: (path) => fromSecrets.some((source) => source.path.every((part, index) => part === path[index])),
  })
  // A reference without a variable already says what is wrong with the value.
  const reported = new Set(undefinedNames.map(({ path }) => dotted(path)))
  const misfits = checked.ok ? [] : checked.misfits.filter(({ path }) => !reported.has(dotted(path)))
  const problems = [
    ...missing.map(({ problem }) => problem),
    ...misfits.map(({ path, expected, found }) => ({
      ...placeOf(yaml, overridden.overrides, path),
      path: dotted(path),
      expected,
      found,
      message: `expected ${expected}, found ${found}`,
    })),
  ]
  return {
    ...(checked.ok && problems.length === bearable.length ? { value: checked.value } : {}),
    // What a variable of the environment has set is there, whatever the file says.
    gaps: bearable.filter(({ path }) => valueAt(overridden.tree, path) === undefined),
    problems: problems.sort(byPlace),
    warnings: [
      ...unread.map(({ path, name }) => undefinedProblem(yaml, path, name)),
      ...separated.unknown.map((unknown) => unknownWarning(yaml, unknown)),
    ].sort(byPlace),
    secrets,
    holdsSecrets: secretsIn(root, isHidden).some((secret) => !secret.includes('${')),
  }
}

function unusable<Shape extends ConfigShape>(problems: ConfigProblem[], secrets: readonly string[]): Candidate<Shape> {
  return { gaps: [], problems, warnings: [], secrets, holdsSecrets: false }
}

function syntaxProblem({ file, line, column, message }: ParsedYaml['problems'][number]): ConfigProblem {
  return { file, line, column, path: '', message }
}

function notKeys(yaml: ParsedYaml): ConfigProblem {
  const found = Array.isArray(yaml.value) ? 'a list' : `a ${typeof yaml.value}`
  const expected = 'keys with values ("model: gpt-5.2")'
  return {
    file: yaml.file,
    ...yaml.positionOf([]),
    path: '',
    expected,
    found,
    message: `expected ${expected}, found ${found}`,
  }
}

function undefinedProblem(yaml: ParsedYaml, path: readonly PathPart[], name: string): ConfigProblem {
  const expected = `the variable ${name} to be set`
  const message = `\${${name}} is not set in the environment or in .env; set it, or write \${${name}:-default}`
  return { file: yaml.file, ...yaml.positionOf(path), path: dotted(path), expected, found: 'nothing', message }
}

function unsetReason({ file, line, column }: ConfigProblem, name: string): string {
  return `\${${name}} is not set (${[file, line, column].filter((part) => part !== undefined).join(':')})`
}

function unknownWarning(yaml: ParsedYaml, { path, key, meant }: UnknownKey): ConfigProblem {
  const question = meant === null ? '' : `; did you mean "${meant}"?`
  const position = yaml.positionOf(path, 'key')
  return { file: yaml.file, ...position, path: dotted(path), message: `unknown key "${key.slice(0, 60)}"${question}` }
}

/** The variable that set a value, or its place in the file. */
function placeOf(yaml: ParsedYaml, overrides: readonly Override[], path: readonly PropertyKey[]): Place {
  const override = overrides.find((set) => set.path.every((part, index) => part === String(path[index])))
  if (override !== undefined) return { ...override.origin, variable: override.variable }
  const parts = path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  return { file: yaml.file, ...yaml.positionOf(parts) }
}

type Place = Pick<ConfigProblem, 'file' | 'variable'> & Partial<Position>

function byPlace(one: ConfigProblem, other: ConfigProblem): number {
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0)
}
