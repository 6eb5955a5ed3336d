/**
 * Evaluates the text of a configuration with an environment: returns the validated value or all issues.
 */
import { createRedactor } from '../lib/redact.ts'
import { type ParsedYaml, type PathPart, type Position, parseYaml } from '../lib/yaml.ts'
import type { Environment } from './environment.ts'
import { interpolateVariables } from './interpolate-variables.ts'
import { type ConfigIssue, dottedPath } from './issue.ts'
import { applyOverrides, coerceText, type EnvironmentBinding, type Override, textKindAt, typeAt } from './overrides.ts'
import { isWriteOnly } from './schema-introspection.ts'
import { findEnvironmentSecrets, findSecrets, isSecretName } from './secrets.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import { isTree, valueAt, withoutKey, withValue } from './tree.ts'
import { splitUnknownKeys, type UnknownKey, type UnusedKey } from './unknown-keys.ts'
import { accountKeyOf, type UnresolvedVariable } from './unresolved-variables.ts'
import { validate } from './validate.ts'

export interface EvaluationInput<Shape extends ConfigShape> {
  readonly text: string
  /** The file name used in issues. */
  readonly file: string
  readonly shapes: Shape
  readonly environment: Environment
  readonly environmentBindings: readonly EnvironmentBinding[]
  /** Keys of Hermes that no module reads. */
  readonly unusedKeys: readonly UnusedKey[]
}

export interface ConfigEvaluation<Shape extends ConfigShape> {
  /** Absent if there are issues other than unresolved variables of accounts. */
  readonly value?: ConfigOf<Shape>
  /** Keys without a value because of an unset variable. Each one is also an issue. */
  readonly unresolved: readonly UnresolvedVariable[]
  readonly issues: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** Known keys that have no effect. */
  readonly notes: readonly ConfigIssue[]
  /** Known keys that restrict something in Hermes and have no effect. */
  readonly unenforced: readonly ConfigIssue[]
  /** Secrets of the text and the environment, also of an invalid configuration. */
  readonly secrets: readonly string[]
  /** Whether the text itself contains secrets, not only references to variables. */
  readonly holdsSecrets: boolean
}

/** Never throws. */
export function evaluateConfig<Shape extends ConfigShape>(input: EvaluationInput<Shape>): ConfigEvaluation<Shape> {
  const { text, file, shapes, environment, environmentBindings, unusedKeys } = input
  const yaml = parseYaml(text, file)
  const fromEnvironment = findEnvironmentSecrets(environment.values)
  if (yaml.issues.length > 0) return failedEvaluation(yaml.issues.map(toSyntaxIssue), fromEnvironment)
  const root = yaml.value ?? {}
  if (!isTree(root)) return failedEvaluation([notMappingIssue(yaml)], fromEnvironment)

  const { tree: resolved, references, undefinedVariables } = interpolateVariables(root, environment.values)
  let tree = resolved
  for (const { path, whole } of references) {
    const kind = whole ? textKindAt(shapes, path) : undefined
    const value = valueAt(tree, path)
    if (kind !== undefined && typeof value === 'string') tree = withValue(tree, path, coerceText(value, kind))
  }
  // In a key that no module reads, ${X} may be part of a shell command or a template.
  const isRead = ({ path }: { path: readonly PathPart[] }) => typeAt(shapes, path) !== undefined
  const unread = undefinedVariables.filter((reference) => !isRead(reference))
  const missing = undefinedVariables
    .filter(isRead)
    .map(({ path, name }) => ({ path, name, issue: unsetVariableIssue(yaml, path, name) }))
  const unresolved = missing.flatMap(({ path, name, issue }): UnresolvedVariable[] => {
    const key = accountKeyOf(path)
    return key === undefined ? [] : [{ path: key, reason: unsetReason(issue, name), issue }]
  })
  for (const { path } of unresolved) tree = withoutKey(tree, path)
  const separated = splitUnknownKeys(tree, shapes, unusedKeys)
  const overridden = applyOverrides(separated.tree, environmentBindings, environment, shapes)
  const isHidden = (path: readonly string[]) => {
    const type = typeAt(shapes, path)
    return type !== undefined && isWriteOnly(type)
  }
  // An unresolved reference is not a secret, and the user must see its name.
  const unset = new Set(undefinedVariables.map(({ name }) => `\${${name}}`))
  const secrets = [
    ...fromEnvironment,
    ...findSecrets(resolved, isHidden),
    ...findSecrets(overridden.tree, isHidden),
  ].filter((secret) => !unset.has(secret))
  const fromSecrets = [
    ...references.filter(({ variables }) => variables.some(isSecretName)),
    ...overridden.overrides.filter(({ variable }) => isSecretName(variable)),
  ]
  const checked = validate(overridden.tree, shapes, {
    redact: createRedactor({ secrets: () => secrets }),
    isHidden: (path) => fromSecrets.some((source) => source.path.every((part, index) => part === path[index])),
  })
  const unusedIssues = (kind: UnusedKey['kind'], message: string): ConfigIssue[] =>
    separated.unused
      .filter((key) => key.kind === kind)
      .map(({ path }) => ({
        file: yaml.file,
        ...yaml.positionOf(path, 'key'),
        path: dottedPath(path),
        message,
      }))
      .sort(byLocation)
  // The unset variable is already an issue of this value.
  const reported = new Set(undefinedVariables.map(({ path }) => dottedPath(path)))
  const invalidValues = checked.ok ? [] : checked.issues.filter(({ path }) => !reported.has(dottedPath(path)))
  const issues = [
    ...missing.map(({ issue }) => issue),
    ...invalidValues.map(({ path, expected, found }) => ({
      ...locationOf(yaml, overridden.overrides, path),
      path: dottedPath(path),
      expected,
      found,
      message: `expected ${expected}, found ${found}`,
    })),
  ]
  return {
    ...(checked.ok && issues.length === unresolved.length ? { value: checked.value } : {}),
    // A variable of the environment may have set the value.
    unresolved: unresolved.filter(({ path }) => valueAt(overridden.tree, path) === undefined),
    issues: issues.sort(byLocation),
    warnings: [
      ...unread.map(({ path, name }) => unsetVariableIssue(yaml, path, name)),
      ...separated.unknown.map((unknown) => unknownKeyWarning(yaml, unknown)),
    ].sort(byLocation),
    notes: unusedIssues('planned', 'known to Hermes, but does nothing here yet'),
    unenforced: unusedIssues('security', 'a security setting of Hermes that is not enforced here'),
    secrets,
    holdsSecrets: findSecrets(root, isHidden).some((secret) => !secret.includes('${')),
  }
}

function failedEvaluation<Shape extends ConfigShape>(
  issues: ConfigIssue[],
  secrets: readonly string[],
): ConfigEvaluation<Shape> {
  return { unresolved: [], issues, warnings: [], notes: [], unenforced: [], secrets, holdsSecrets: false }
}

function toSyntaxIssue({ file, line, column, message }: ParsedYaml['issues'][number]): ConfigIssue {
  return { file, line, column, path: '', message }
}

function notMappingIssue(yaml: ParsedYaml): ConfigIssue {
  const found = Array.isArray(yaml.value) ? 'a list' : `a ${typeof yaml.value}`
  const expected = 'keys with values (for example "model: gpt-5.2")'
  return {
    file: yaml.file,
    ...yaml.positionOf([]),
    path: '',
    expected,
    found,
    message: `expected ${expected}, found ${found}`,
  }
}

function unsetVariableIssue(yaml: ParsedYaml, path: readonly PathPart[], name: string): ConfigIssue {
  const expected = `the variable ${name} to be set`
  const message = `\${${name}} is not set in the environment or in .env; set it, or write \${${name}:-default}`
  return { file: yaml.file, ...yaml.positionOf(path), path: dottedPath(path), expected, found: 'nothing', message }
}

function unsetReason({ file, line, column }: ConfigIssue, name: string): string {
  return `\${${name}} is not set (${[file, line, column].filter((part) => part !== undefined).join(':')})`
}

function unknownKeyWarning(yaml: ParsedYaml, { path, key, suggestion }: UnknownKey): ConfigIssue {
  const question = suggestion === null ? '' : `; did you mean "${suggestion}"?`
  const position = yaml.positionOf(path, 'key')
  return {
    file: yaml.file,
    ...position,
    path: dottedPath(path),
    message: `unknown key "${key.slice(0, 60)}"${question}`,
  }
}

/** The variable that set a value, or its position in the file. */
function locationOf(yaml: ParsedYaml, overrides: readonly Override[], path: readonly PropertyKey[]): IssueLocation {
  const override = overrides.find((set) => set.path.every((part, index) => part === String(path[index])))
  if (override !== undefined) return { ...override.origin, variable: override.variable }
  const parts = path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  return { file: yaml.file, ...yaml.positionOf(parts) }
}

type IssueLocation = Pick<ConfigIssue, 'file' | 'variable'> & Partial<Position>

function byLocation(one: ConfigIssue, other: ConfigIssue): number {
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0)
}
