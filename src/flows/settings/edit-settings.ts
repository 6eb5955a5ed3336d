/**
 * Changes config.yaml and `.env` as the form of the settings asks: what would change is shown first, invalid values are refused with
 * their line, and a file that has been changed since it was read is not overwritten.
 */
import { createHash } from 'node:crypto'
import { unifiedDiff } from '../../agent/tools/support/unified-diff.ts'
import { editedConfigText, readConfigText, writeConfigText } from '../../config/edit-config.ts'
import { setVariable } from '../../config/edit-dotenv.ts'
import { type AnyConfig, secretPlaceholder } from '../../config/effective-values.ts'
import { type ConfigEvaluation, evaluateConfig } from '../../config/evaluate-config.ts'
import { type ConfigIssue, dottedPath, formatIssues } from '../../config/issue.ts'
import { applyKeyAliases } from '../../config/key-aliases.ts'
import { pathsThatNeedRestart } from '../../config/load.ts'
import { isSecretPath, pathOf } from '../../config/overrides.ts'
import { isSecretName } from '../../config/secrets.ts'
import type { ConfigShape } from '../../config/section.ts'
import { changedPaths, overlaps, valueAt } from '../../config/tree.ts'
import { HermesError } from '../../lib/errors.ts'
import { createRedactor, type Redactor } from '../../lib/redact.ts'
import { parseYaml } from '../../lib/yaml.ts'
import { maskYaml, type YamlPath } from '../../lib/yaml-edit.ts'

export interface SettingChange {
  readonly path: YamlPath
  /** Undefined removes the key, so that the default counts. */
  readonly value?: unknown
}

export interface PlannedChange {
  readonly revision: string
  /** A unified diff without secrets; '' when nothing changes. */
  readonly diff: string
  /** Why the new text cannot be saved. */
  readonly problems: readonly ConfigIssue[]
  /** Dotted paths of values that will be others. */
  readonly changed: readonly string[]
  /** Which of them apply after a restart. */
  readonly restart: readonly string[]
  /** Variables that decide in place of the file. */
  readonly overruled: readonly { readonly path: string; readonly variable: string }[]
}

const maxDiffChars = 60_000

/** Identifies the content of config.yaml. */
export function revisionOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** Writes nothing. Throws `config/unreadable` and `http/bad-request`. */
export function planChange(config: AnyConfig, redact: Redactor, changes: readonly SettingChange[]): PlannedChange {
  return prepare(config, redact, changes).plan
}

/**
 * Writes config.yaml.
 * @param revision of the text that the person has seen
 * @throws HermesError config/changed, config/invalid, config/unreadable, config/unwritable, http/bad-request
 */
export function saveChange(
  config: AnyConfig,
  redact: Redactor,
  { revision, changes }: { readonly revision: string; readonly changes: readonly SettingChange[] },
): PlannedChange {
  const { plan, before, after } = prepare(config, redact, changes)
  if (plan.revision !== revision) throw new HermesError('config/changed')
  if (plan.problems.length > 0) throw new HermesError('config/invalid', formatIssues(plan.problems))
  if (after !== before) writeConfigText(config.rules().home, after)
  return { ...plan, revision: revisionOf(after) }
}

/** Sets a variable of `.env`; null removes it. @returns whether it counts: a variable of the process does before it */
export function saveVariable(config: AnyConfig, name: string, value: string | null): boolean {
  setVariable(config.rules().home.envFile, name, value ?? undefined)
  return !Object.hasOwn(config.environment().process, name)
}

function prepare(config: AnyConfig, redact: Redactor, changes: readonly SettingChange[]) {
  const rules = config.rules()
  const before = readConfigText(rules.home.configFile)
  const changed = changes.map(({ path, value }) => {
    if (containsPlaceholder(value))
      throw new HermesError(
        'http/bad-request',
        `${dottedPath(path)}: this is the mark of a hidden secret, not a value.`,
      )
    return { path: pathInFile(before, config, path), value }
  })
  const after = editedConfigText(before, {
    set: changed.filter(({ value }) => value !== undefined),
    remove: changed.filter(({ value }) => value === undefined).map(({ path }) => path),
  })
  const [old, now] = [before, after].map((text) => evaluateConfig({ ...rules, text, file: 'config.yaml' }))
  if (old === undefined || now === undefined) throw new Error('two texts have two evaluations')
  const secrets = [...old.secrets, ...now.secrets]
  const known = createRedactor({ secrets: () => secrets })
  const hide: Redactor = (text) => redact(known(text))
  const shown = (text: string, isNew: boolean) => hide(mask(text, rules.shapes, isNew ? changed : []))
  const plan: PlannedChange = {
    revision: revisionOf(before),
    diff: unifiedDiff({ before: shown(before, false), after: shown(after, true), path: 'config.yaml' }, maxDiffChars),
    problems: newProblems(old, now).map((issue) => ({ ...issue, message: hide(issue.message) })),
    changed: changedPaths(old.value, now.value),
    restart: pathsThatNeedRestart(rules.valueAtStart, now.value, rules.restartPaths),
    overruled: rules.environmentBindings.flatMap((binding) => {
      const { variable } = binding
      const path = dottedPath(pathOf(binding))
      const counts = config.environment().originOf(variable) !== undefined
      return counts && changes.some((change) => overlaps(dottedPath(change.path), path)) ? [{ path, variable }] : []
    }),
  }
  return { plan, before, after }
}

/** The file may have the value under another spelling, which stays. */
function pathInFile(text: string, config: AnyConfig, path: YamlPath): YamlPath {
  const aliased = applyKeyAliases(parseYaml(text, 'config.yaml').value, config.rules().keyAliases)
  if (valueAt(aliased.tree, path) === undefined) return path
  const [first = path[0], ...rest] = aliased.sourceOf(path).map(String)
  return [first, ...rest]
}

/** A file that was invalid before can be corrected value by value. */
function newProblems(
  before: ConfigEvaluation<ConfigShape>,
  after: ConfigEvaluation<ConfigShape>,
): readonly ConfigIssue[] {
  const nameOf = ({ path, message }: ConfigIssue) => `${path}: ${message}`
  const known = new Set(before.issues.map(nameOf))
  return after.issues.filter((issue) => !known.has(nameOf(issue)))
}

const newSecret = '(new value, not shown)'

/** The text for people. @param changed whose secrets are marked as new */
function mask(text: string, shapes: ConfigShape, changed: readonly SettingChange[]): string {
  const isNew = (path: readonly string[]) =>
    changed.some((change) => change.path.every((part, at) => part === path[at]))
  return maskYaml(
    text,
    (path) => (isSecretPath(shapes, path) ? (isNew(path) ? newSecret : secretPlaceholder) : undefined),
    (comment) =>
      comment.replace(/([\w.-]+)(["']?\s*[:=]\s*)\S.*/, (all, name: string, sign: string) =>
        isSecretName(name) ? `${name}${sign}${secretPlaceholder}` : all,
      ),
  )
}

function containsPlaceholder(value: unknown): boolean {
  return (
    value !== undefined &&
    [secretPlaceholder, newSecret, '[redacted]'].some((mark) => JSON.stringify(value).includes(mark))
  )
}
