/**
 * Takes settings over into config.yaml and `.env`. Settings that only make sense together are one unit: the token of a bot with the
 * people who may use it, a model with its server. A unit is taken as a whole, so that an import never adds the people of one bot to
 * another one, nor sends the key of one server to another one.
 */
import { isDeepStrictEqual } from 'node:util'
import { gatewayShapes, gatewayVariables } from '../../app/config.ts'
import { keyAliases } from '../../app/config-compatibility.ts'
import { parseDotenv } from '../../config/dotenv.ts'
import { removeVariables } from '../../config/edit-dotenv.ts'
import { readEnvironment } from '../../config/environment.ts'
import { type ConfigEvaluation, evaluateConfig } from '../../config/evaluate-config.ts'
import { type ConfigIssue, dottedPath } from '../../config/issue.ts'
import { applyKeyAliases } from '../../config/key-aliases.ts'
import { pathOf } from '../../config/overrides.ts'
import type { ConfigShape } from '../../config/section.ts'
import { isTree, valueAt, withValue } from '../../config/tree.ts'
import { unusedKeys } from '../../config/unused-keys.ts'
import { messageOf } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { parseYaml } from '../../lib/yaml.ts'
import { editYamlValues } from '../../lib/yaml-edit.ts'
import type { PlatformCatalogue } from '../../platforms/registry.ts'
import type { CliContext } from '../kit/context.ts'
import type { FoundSetting, FoundVariable, ImportEntry } from './contract.ts'
import { failed, left } from './source-home.ts'

export interface SettingsTarget {
  readonly home: CliContext['home']
  readonly environment: CliContext['environment']
  readonly catalogue: PlatformCatalogue
}

export interface SettingsPlan {
  readonly entries: readonly ImportEntry[]
  /** The new text of a file; undefined for one that stays as it is. */
  readonly config: string | undefined
  readonly variables: string | undefined
}

type Found = FoundSetting | FoundVariable

interface Unit {
  readonly name: string
  readonly settings: Found[]
}

/** Sections that are one unit. */
const wholeSections = new Set([
  ...['approvals', 'terminal', 'security', 'privacy', 'roles', 'gateway', 'hooks', 'plugins', 'send_message', 'http'],
  ...['unauthorized_dm_behavior', 'session_reset'],
])
/** Sections in which each name is one unit. */
const namedSections = new Set([
  ...['platforms', 'providers', 'personalities', 'quick_commands', 'mcp_servers', 'auxiliary', 'custom_toolsets'],
  ...['platform_toolsets', 'reset_by_platform', 'credential_pool_strategies'],
])
const modelKeys = new Set(['model', 'provider', 'base_url', 'api_key', 'context_length'])

function unitOf(path: readonly string[]): string {
  const [first = '', second] = path
  if (modelKeys.has(first)) return 'model'
  if (wholeSections.has(first) || second === undefined) return first
  return namedSections.has(first) ? `${first}.${second}` : path.join('.')
}

/** Reads, and writes nothing. Never throws for bad files. */
export function planSettings(settings: readonly Found[], target: SettingsTarget, overwrite: boolean): SettingsPlan {
  const platforms = target.catalogue.platforms
  const shapes = gatewayShapes(platforms)
  const bindings = gatewayVariables(platforms)
  const boundPaths = new Map(bindings.map((binding) => [binding.variable, pathOf(binding)]))
  const targetFiles = readOwn(target)
  if ('problem' in targetFiles)
    return { entries: [failed('settings', 'config.yaml', targetFiles.problem)], ...unchanged }
  const checked = checkSettings(settings, { ...target, shapes, ownVariables: targetFiles.variables })
  const entries: ImportEntry[] = [...checked.entries]

  const unitFor = (setting: Found) => {
    const path = setting.kind === 'config' ? setting.path : boundPaths.get(setting.name)
    return path === undefined ? `variable:${setting.kind === 'variable' ? setting.name : ''}` : unitOf(path)
  }
  const keyFor = (setting: Found) =>
    setting.kind === 'config'
      ? setting.path.join('.')
      : (boundPaths.get(setting.name)?.join('.') ?? `variable:${setting.name}`)
  const ownValues = flatten(targetFiles.tree)
  for (const [name, { value }] of targetFiles.variables) {
    const path = boundPaths.get(name)
    ownValues.set(path === undefined ? `variable:${name}` : path.join('.'), { path: path ?? [], value })
  }
  const taken: Found[] = []
  for (const unit of groupByUnit(checked.settings, unitFor)) {
    const wanted = new Map(unit.settings.map((each) => [keyFor(each), comparable(each.value)]))
    const here = [...ownValues].filter(([key, { path }]) => unitOfKey(key, path) === unit.name)
    const isHere = (key: string) => ownValues.has(key)
    const differs = [...wanted].filter(([key, text]) => isHere(key) && comparable(ownValues.get(key)?.value) !== text)
    const others = here.filter(([key]) => !wanted.has(key)).map(([key]) => key)
    const missing = unit.settings.filter((each) => !isHere(keyFor(each)))
    const isConflict = differs.length > 0 || (others.length > 0 && missing.length > 0 && here.length > 0)
    if (missing.length === 0 && differs.length === 0) entries.push(report(unit, unit.settings, 'same', checked.notes))
    else if (isConflict && !overwrite) {
      const reason = `other values are here: ${[...differs.map(([key]) => key), ...others].map(shown).join(', ')}`
      entries.push({ ...report(unit, unit.settings, 'conflict', checked.notes), reason })
    } else {
      const changes = overwrite
        ? unit.settings.filter((each) => !isHere(keyFor(each)) || differs.some(([key]) => key === keyFor(each)))
        : missing
      taken.push(...changes)
      const result = changes.some(({ change }) => change !== '') ? 'changed' : 'taken'
      entries.push(report(unit, changes, result, checked.notes))
    }
  }
  return { entries, ...write(taken, targetFiles) }
}

const unchanged = { config: undefined, variables: undefined } as const

function unitOfKey(key: string, path: readonly (string | number)[]): string {
  return key.startsWith('variable:') ? key : unitOf(path.map(String))
}

function shown(key: string): string {
  return key.replace(/^variable:/, '')
}

interface Own {
  readonly text: string
  readonly tree: unknown
  readonly variablesText: string
  readonly variables: ReturnType<typeof parseDotenv>['entries']
}

function readOwn({ home, catalogue }: SettingsTarget): Own | { readonly problem: string } {
  try {
    const text = readTextIfExists(home.configFile) ?? ''
    const yaml = parseYaml(text, 'config.yaml')
    const [issue] = yaml.issues
    if (issue !== undefined) return { problem: `the config.yaml of this home is not valid: line ${issue.line}` }
    const tree = applyKeyAliases(yaml.value ?? {}, keyAliases(catalogue.platforms)).tree
    const variablesText = readTextIfExists(home.envFile) ?? ''
    return { text, tree, variablesText, variables: parseDotenv(variablesText).entries }
  } catch (error) {
    return { problem: `the files of this home cannot be read: ${messageOf(error)}` }
  }
}

/** Lists and other values without keys, by dotted path. An empty mapping is a value. */
function flatten(
  tree: unknown,
  path: readonly string[] = [],
): Map<string, { path: readonly string[]; value: unknown }> {
  if (!isTree(tree) || (path.length > 0 && Object.keys(tree).length === 0))
    return new Map(path.length === 0 || tree === null ? [] : [[path.join('.'), { path, value: tree }]])
  return new Map(Object.entries(tree).flatMap(([key, inner]) => [...flatten(inner, [...path, key])]))
}

/** A variable and a key can have the same value. */
function comparable(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function groupByUnit(settings: readonly Found[], unitFor: (setting: Found) => string): Unit[] {
  const units = new Map<string, Unit>()
  for (const each of settings) {
    const name = unitFor(each)
    const unit = units.get(name) ?? { name, settings: [] }
    unit.settings.push(each)
    units.set(name, unit)
  }
  return [...units.values()]
}

type Notes = ReadonlyMap<Found, string>

function report(unit: Unit, settings: readonly Found[], result: ImportEntry['result'], allNotes: Notes): ImportEntry {
  const names = settings.map((each) => (each.kind === 'variable' ? each.name : each.path.join('.')))
  const noteOf = (setting: Found, index: number) => {
    const note = allNotes.get(setting) ?? ''
    return note === '' || names.length === 1 ? note : `${names[index]} ${note}`
  }
  const notes = settings.map(noteOf)
  const reasons = new Set([...summarizeChanges(settings), ...notes].filter((text) => text !== ''))
  const isVariable = settings.every(({ kind }) => kind === 'variable')
  return {
    area: isVariable ? 'variables' : 'settings',
    name: names.length === 1 ? (names[0] ?? unit.name) : names.join(', '),
    result,
    reason: [...reasons].join('; '),
  }
}

/** `was channels.telegram` for several keys of this section. */
function summarizeChanges(settings: readonly Found[]): readonly string[] {
  const changes = [...new Set(settings.map(({ change }) => change))]
  const former = changes.flatMap((change) => (change.startsWith('was ') ? [change.slice(4).split('.')] : []))
  const [first = [], ...others] = former
  const length = first.findIndex((part, index) => others.some((other) => other[index] !== part))
  const shared = length === -1 ? first : first.slice(0, length)
  if (others.length === 0 || shared.length === 0) return changes
  return [`was ${shared.join('.')}`, ...changes.filter((change) => !change.startsWith('was '))]
}

interface CheckInput extends SettingsTarget {
  readonly shapes: ConfigShape
  readonly ownVariables: Own['variables']
}

const maxRounds = 20

/** Separates what this gateway cannot use. Removing an invalid value can make another one visible, so it runs in rounds. */
function checkSettings(candidates: readonly Found[], input: CheckInput) {
  const entries: ImportEntry[] = []
  let settings = splitNested(candidates)
  for (let round = 0; round < maxRounds; round++) {
    const evaluation = evaluate(settings, input)
    const rejected = new Map<Found, ConfigIssue>()
    for (const issue of [...evaluation.issues, ...evaluation.warnings, ...evaluation.notes]) {
      if (isUnsetVariable(issue)) continue
      for (const each of settings) if (concerns(each, issue) && !rejected.has(each)) rejected.set(each, issue)
    }
    if (rejected.size === 0) return { settings, entries, notes: notesOf(settings, evaluation) }
    for (const [setting, { path, message }] of rejected) {
      const [area, name] =
        setting.kind === 'variable' ? (['variables', setting.name] as const) : (['settings', path] as const)
      // An unknown section has many values.
      if (!entries.some((entry) => entry.name === name)) entries.push(left(area, name, message))
    }
    settings = settings.filter((each) => !rejected.has(each))
  }
  return {
    settings: [],
    entries: [...entries, failed('settings', 'config.yaml', 'it has too many errors')],
    /** About settings that are taken. */
    notes: new Map(),
  }
}

/** Mappings become their values, so that an invalid one does not take its neighbours with it. */
function splitNested(settings: readonly Found[]): Found[] {
  return settings.flatMap((setting): Found[] => {
    if (setting.kind === 'variable') return [setting]
    return [...flatten(setting.value, setting.path).values()].map(({ path, value }): FoundSetting => {
      const [first = '', ...rest] = path
      return { ...setting, path: [first, ...rest], value }
    })
  })
}

function evaluate(settings: readonly Found[], input: CheckInput): ConfigEvaluation<ConfigShape> {
  const { home, environment: process, shapes, ownVariables, catalogue } = input
  const configured = settings.filter((each) => each.kind === 'config')
  const { text } = editYamlValues('', { set: configured.map(({ path, value }) => ({ path, value })) })
  const variables = settings.filter((each) => each.kind === 'variable')
  const file = readEnvironment(home.envFile, process)
  const values = {
    ...Object.fromEntries([...ownVariables].map(([name, { value }]) => [name, value])),
    ...Object.fromEntries(variables.map(({ name, value }) => [name, value])),
  }
  const origin = { file: '.env' }
  return evaluateConfig({
    text,
    file: 'config.yaml',
    shapes,
    environment: { ...file, values, originOf: (name) => (Object.hasOwn(values, name) ? origin : undefined) },
    // An invalid variable of this home is not a problem of the import.
    environmentBindings: gatewayVariables(catalogue.platforms).filter(({ variable }) =>
      variables.some(({ name, value }) => name === variable && value !== ''),
    ),
    unusedKeys,
    keyAliases: [],
    safeValues: [],
  })
}

function concerns(setting: Found, { path, variable }: ConfigIssue): boolean {
  if (variable !== undefined) return setting.kind === 'variable' && setting.name === variable
  if (setting.kind === 'variable' || path === '') return false
  const settingPath = dottedPath(setting.path)
  return (
    settingPath === path ||
    settingPath.startsWith(`${path}.`) ||
    settingPath.startsWith(`${path}[`) ||
    path.startsWith(`${settingPath}[`) ||
    path.startsWith(`${settingPath}.`)
  )
}

function isUnsetVariable({ expected }: ConfigIssue): boolean {
  return expected?.startsWith('the variable ') === true
}

function notesOf(settings: readonly Found[], evaluation: ConfigEvaluation<ConfigShape>): Notes {
  const notes = new Map<Found, string>()
  const note = (issues: readonly ConfigIssue[], text: (issue: ConfigIssue) => string) => {
    for (const issue of issues)
      for (const each of settings) if (concerns(each, issue) && !notes.has(each)) notes.set(each, text(issue))
  }
  note(evaluation.issues.filter(isUnsetVariable), ({ expected }) => `needs ${expected?.replace(' to be set', '')}`)
  note(evaluation.warnings.filter(isUnsetVariable), ({ expected }) => `needs ${expected?.replace(' to be set', '')}`)
  note(evaluation.unenforced, () => 'is not enforced here: the gateway reports that until the key is removed')
  return notes
}

function write(taken: readonly Found[], targetFiles: Own): Pick<SettingsPlan, 'config' | 'variables'> {
  const set = taken.filter((setting) => setting.kind === 'config').map(({ path, value }) => ({ path, value }))
  const config = set.length === 0 ? undefined : setValues(targetFiles, set)
  const variables = taken.filter((setting) => setting.kind === 'variable')
  if (variables.length === 0) return { config, variables: undefined }
  const names = new Set(variables.map(({ name }) => name))
  const { text } = removeVariables(targetFiles.variablesText, (name) => names.has(name))
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`
  const lines = variables.map(({ name, value }) => `${name}=${quoted(value)}\n`)
  return { config, variables: `${before}${lines.join('')}` }
}

type Assignment = Pick<FoundSetting, 'path' | 'value'>

/** A value stands where a mapping was: `model: {default: …}`, which is another spelling. */
function setValues({ text, tree }: Own, set: readonly Assignment[]): string {
  const edited = editYamlValues(text, { set }).text
  const wanted = set.reduce<unknown>((all, { path, value }) => withValue(all, path, value), tree)
  const isApplied = set.every(({ path, value }) => isDeepStrictEqual(valueAt(wanted, path), value))
  if (!isApplied) throw new Error('a value of config.yaml stands where the import has keys')
  return edited
}

/** Line breaks are kept, as in a private key. */
function quoted(value: string): string {
  if (/^[\w.,:@+/-]*$/.test(value)) return value
  return `"${value
    .replace(/["\\$]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')}"`
}
