/**
 * Evaluates the text of a configuration with an environment: returns the validated value or all issues.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'
import { createRedactor } from '../lib/redact.ts'
import { type ParsedYaml, type PathPart, type Position, parseYaml } from '../lib/yaml.ts'
import type { Environment } from './environment.ts'
import { interpolateVariables } from './interpolate-variables.ts'
import { type ConfigIssue, dottedPath } from './issue.ts'
import { type AliasedTree, applyKeyAliases, type KeyAlias } from './key-aliases.ts'
import {
  applyOverrides,
  coerceText,
  type EnvironmentBinding,
  type Override,
  pathOf,
  textKindAt,
  typeAt,
} from './overrides.ts'
import { replaceInvalidValue, type SafeValue } from './replace-invalid.ts'
import { isWriteOnly } from './schema-introspection.ts'
import { findEnvironmentSecrets, findSecrets, isSecretName } from './secrets.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import { isTree, valueAt, withValue } from './tree.ts'
import { findUnusedKey, splitUnknownKeys, type UnknownKey, type UnusedKey } from './unknown-keys.ts'
import type { UnusableSetting } from './unusable-settings.ts'
import { type RedactionOptions, validate } from './validate.ts'

/** What values, variables and unknown keys mean. */
export interface ConfigRules<Shape extends ConfigShape> {
  readonly shapes: Shape
  readonly environment: Environment
  readonly environmentBindings: readonly EnvironmentBinding[]
  /** Keys of Hermes that no module reads. */
  readonly unusedKeys: readonly UnusedKey[]
  /** Other spellings of keys. */
  readonly keyAliases: readonly KeyAlias[]
  readonly safeValues: readonly SafeValue[]
}

export interface EvaluationInput<Shape extends ConfigShape> extends ConfigRules<Shape> {
  readonly text: string
  /** The file name used in issues. */
  readonly file: string
}

interface ReplacedIssue {
  readonly issue: ConfigIssue
  /** What is used instead. Empty: the default. */
  readonly safeValues: readonly SafeValue[]
  /** The item of a list was omitted, and the others remain. */
  readonly isItem: boolean
}

export interface ConfigEvaluation<Shape extends ConfigShape> {
  /** Absent if the text is not a mapping in YAML. Invalid values are replaced. */
  readonly value?: ConfigOf<Shape> | undefined
  /** Keys of accounts without a value because it is invalid. Each one is also an issue. */
  readonly unusable: readonly UnusableSetting[]
  /** Invalid values elsewhere. Each one is also an issue. */
  readonly replaced: readonly ReplacedIssue[]
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
  const publicNames = new Set(findPublicBindings(input))
  const environmentSecrets = () => findEnvironmentSecrets({ ...environment, isPublic: (name) => publicNames.has(name) })
  if (yaml.issues.length > 0) return failedEvaluation(yaml.issues.map(toSyntaxIssue), environmentSecrets())
  const root = yaml.value ?? {}
  if (!isTree(root)) return failedEvaluation([notMappingIssue(yaml)], environmentSecrets())
  const aliased = applyKeyAliases(root, input.keyAliases)
  const place: Place = { yaml, sourceOf: aliased.sourceOf, overrides: [] }

  const { tree: resolved, references, undefinedVariables } = interpolateVariables(aliased.tree, environment.values)
  let tree = resolved
  for (const { path, whole, variables } of references) {
    if (whole && publicKeys.has(dottedPath(path))) for (const name of variables) publicNames.add(name)
    const kind = whole ? textKindAt(shapes, path) : undefined
    const value = valueAt(tree, path)
    if (kind !== undefined && typeof value === 'string') tree = withValue(tree, path, coerceText(value, kind))
  }
  // In a key that no module reads, ${X} may be part of a shell command or a template.
  const isRead = ({ path }: { path: readonly PathPart[] }) => typeAt(shapes, path) !== undefined
  const unread = undefinedVariables.filter((reference) => !isRead(reference))
  const unset = undefinedVariables.filter(isRead).map(({ path, name }): InvalidValue => {
    const issue = unsetVariableIssue(place, path, name)
    return { path, issue, reason: `\${${name}} is not set` }
  })
  const withoutUnset = replaceAll(tree, unset, input.safeValues)
  const separated = splitUnknownKeys(withoutUnset.tree, shapes, unusedKeys)
  const overridden = applyOverrides(separated.tree, environmentBindings, environment, shapes)
  const isHidden = (path: readonly string[]) => {
    const type = typeAt(shapes, path)
    return type !== undefined && isWriteOnly(type)
  }
  // An unresolved reference is not a secret, and the user must see its name.
  const unsetReferences = new Set(undefinedVariables.map(({ name }) => `\${${name}}`))
  const secrets = [
    ...environmentSecrets(),
    ...findSecrets(resolved, isHidden),
    ...findSecrets(overridden.tree, isHidden),
  ].filter((secret) => !unsetReferences.has(secret))
  const fromSecrets = [
    ...references.filter(({ variables }) => variables.some(isSecretName)),
    ...overridden.overrides.filter(({ variable }) => isSecretName(variable)),
  ]
  const valid = replaceInvalidValues(overridden.tree, {
    shapes,
    safeValues: input.safeValues,
    place: { ...place, overrides: overridden.overrides },
    redaction: {
      redact: createRedactor({ secrets: () => secrets }),
      isHidden: (path) => fromSecrets.some((source) => source.path.every((part, index) => part === path[index])),
    },
  })
  // These paths are those of the file.
  const asWritten: Place = { ...place, sourceOf: (path) => path }
  const leftOver = aliased.leftOver.map((key) => ({ ...key, unused: findUnusedKey(key.path, unusedKeys) }))
  const unusedIssues = (kind: UnusedKey['kind'], message: string): ConfigIssue[] =>
    [
      ...separated.unused.map((key) => ({ ...key, in: place })),
      ...leftOver.flatMap(({ path, unused }) => (unused === undefined ? [] : [{ ...unused, path, in: asWritten }])),
    ]
      .filter((key) => key.kind === kind)
      .map((key) => keyIssue(key.in, key.path, `${message}: ${key.reason}`))
      .sort(byLocation)
  return {
    value: valid.value,
    // A variable of the environment may have set the value.
    unusable: [
      ...withoutUnset.unusable.filter(({ path }) => valueAt(overridden.tree, path) === undefined),
      ...valid.unusable,
    ],
    replaced: [...withoutUnset.replaced, ...valid.replaced],
    issues: [...unset.map(({ issue }) => issue), ...valid.issues].sort(byLocation),
    warnings: [
      ...unread.map(({ path, name }) => unsetVariableIssue(place, path, name)),
      ...separated.unknown.map((key) => unknownKeyWarning(place, key)),
      ...leftOver
        .filter((key) => key.unused === undefined)
        .map((key) => unknownKeyWarning(asWritten, unknownLeftOver(key))),
      ...aliased.shadowed.map(({ path, by }) =>
        keyIssue(asWritten, path, `has no effect, because \`${dottedPath(by)}\` takes precedence`),
      ),
    ].sort(byLocation),
    notes: unusedIssues('unused', 'a key of Hermes without effect here'),
    unenforced: unusedIssues('security', 'a security setting of Hermes that is not enforced here'),
    secrets,
    holdsSecrets: findSecrets(aliased.tree, isHidden).some((secret) => !secret.includes('${')),
  }
}

/** Everybody may know the values of these keys. Elsewhere a variable may be a part of a header or of a command. */
const publicKeys: ReadonlySet<string> = new Set(['model', 'provider', 'base_url'])

/** The variables that set a value of the configuration that is not secret. */
function findPublicBindings({
  environmentBindings,
  shapes,
}: Pick<EvaluationInput<ConfigShape>, 'environmentBindings' | 'shapes'>): string[] {
  return environmentBindings.flatMap((binding) => {
    const type = typeAt(shapes, pathOf(binding))
    return type === undefined || isWriteOnly(type) || isSecretName(binding.variable) ? [] : [binding.variable]
  })
}

/** Where the values are: in the file, under a key or its alias, or in a variable. */
interface Place {
  readonly yaml: ParsedYaml
  readonly sourceOf: AliasedTree['sourceOf']
  readonly overrides: readonly Override[]
}

interface InvalidValue {
  readonly path: readonly PropertyKey[]
  readonly issue: ConfigIssue
  /** For the state of an account, without the position. */
  readonly reason: string
}

interface Replacements {
  readonly tree: unknown
  readonly unusable: readonly UnusableSetting[]
  readonly replaced: readonly ReplacedIssue[]
}

function replaceAll(tree: unknown, invalid: readonly InvalidValue[], safeValues: readonly SafeValue[]): Replacements {
  let current = tree
  const unusable: UnusableSetting[] = []
  const replaced: ReplacedIssue[] = []
  const replacedPaths: (readonly PropertyKey[])[] = []
  for (const { path, issue, reason } of invalid) {
    // Another item of the list, or a value above it, was invalid, too.
    if (replacedPaths.some((above) => above.every((part, index) => part === path[index]))) continue
    const result = replaceInvalidValue(current, path, safeValues)
    if (result === undefined) continue
    current = result.tree
    replacedPaths.push(result.path)
    const { accountKey } = result
    if (accountKey === undefined)
      replaced.push({ issue, safeValues: result.safeValues, isItem: result.isItem === true })
    else unusable.push({ path: accountKey, reason: `${reason} (${positionText(issue)})`, issue })
  }
  return { tree: current, unusable, replaced }
}

interface ValidationInput<Shape extends ConfigShape> {
  readonly shapes: Shape
  readonly safeValues: readonly SafeValue[]
  readonly place: Place
  readonly redaction: RedactionOptions
}

/** A replacement can be invalid for the value above it, which is then replaced, too. */
const maxReplacementRounds = 10

/** There is no value if the defaults are invalid. */
function replaceInvalidValues<Shape extends ConfigShape>(
  tree: unknown,
  { shapes, safeValues, place, redaction }: ValidationInput<Shape>,
): Replacements & { readonly value?: ConfigOf<Shape>; readonly issues: readonly ConfigIssue[] } {
  let current = tree
  const unusable: UnusableSetting[] = []
  const replaced: ReplacedIssue[] = []
  const issues: ConfigIssue[] = []
  for (let round = 0; round < maxReplacementRounds; round++) {
    const checked = validate(current, shapes, redaction)
    if (checked.ok) return { value: checked.value, tree: current, unusable, replaced, issues }
    const invalid = checked.issues.map(({ path, expected, found: actual }): InvalidValue => {
      const message = `expected ${expected}, found ${actual}`
      const issue = {
        ...locationOf(place, path),
        path: dottedPath(place.sourceOf(path)),
        expected,
        found: actual,
        message,
      }
      return { path, issue, reason: `${dottedPath(path.slice(-1))}: ${message}` }
    })
    issues.push(...invalid.map(({ issue }) => issue))
    const result = replaceAll(current, invalid, safeValues)
    if (result.unusable.length + result.replaced.length === 0) break
    current = result.tree
    unusable.push(...result.unusable)
    replaced.push(...result.replaced)
  }
  return { tree: current, unusable, replaced, issues }
}

function failedEvaluation<Shape extends ConfigShape>(
  issues: ConfigIssue[],
  secrets: readonly string[],
): ConfigEvaluation<Shape> {
  return { unusable: [], replaced: [], issues, warnings: [], notes: [], unenforced: [], secrets, holdsSecrets: false }
}

function toSyntaxIssue({ file, line, column, message }: ParsedYaml['issues'][number]): ConfigIssue {
  return { file, line, column, path: '', message }
}

function notMappingIssue(yaml: ParsedYaml): ConfigIssue {
  const kind = Array.isArray(yaml.value) ? 'a list' : `a ${typeof yaml.value}`
  const expected = 'keys with values (for example "model: gpt-5.2")'
  return {
    file: yaml.file,
    ...yaml.positionOf([]),
    path: '',
    expected,
    found: kind,
    message: `expected ${expected}, found ${kind}`,
  }
}

function unsetVariableIssue(place: Place, path: readonly PathPart[], name: string): ConfigIssue {
  const expected = `the variable ${name} to be set`
  const message = `\${${name}} is not set in the environment or in .env; set it, or write \${${name}:-default}`
  return { ...locationOf(place, path), path: dottedPath(place.sourceOf(path)), expected, found: 'nothing', message }
}

function positionText({ file, line, column, variable }: ConfigIssue): string {
  return variable ?? [file, line, column].filter((part) => part !== undefined).join(':')
}

function unknownKeyWarning(place: Place, { path, key, suggestion }: UnknownKey): ConfigIssue {
  const question = suggestion === null ? '' : `; did you mean "${suggestion}"?`
  return keyIssue(place, path, `unknown key "${key.slice(0, 60)}"${question}`)
}

function unknownLeftOver({ path, known }: AliasedTree['leftOver'][number]): UnknownKey {
  const key = String(path.at(-1))
  return { path, key, suggestion: findClosestMatch(key, known) }
}

/** An issue about a key instead of its value. */
function keyIssue({ yaml, sourceOf }: Place, path: readonly PathPart[], message: string): ConfigIssue {
  const source = sourceOf(path)
  return { file: yaml.file, ...yaml.positionOf(toParts(source), 'key'), path: dottedPath(source), message }
}

/** The variable that set a value, or its position in the file. */
function locationOf({ yaml, sourceOf, overrides }: Place, path: readonly PropertyKey[]): IssueLocation {
  const override = overrides.find((set) => set.path.every((part, index) => part === String(path[index])))
  if (override !== undefined) return { ...override.origin, variable: override.variable }
  return { file: yaml.file, ...yaml.positionOf(toParts(sourceOf(path))) }
}

function toParts(path: readonly PropertyKey[]): PathPart[] {
  return path.map((part) => (typeof part === 'symbol' ? String(part) : part))
}

type IssueLocation = Pick<ConfigIssue, 'file' | 'variable'> & Partial<Position>

function byLocation(a: ConfigIssue, b: ConfigIssue): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
}
