/**
 * The configuration of the running process: loaded at the start and reloaded on changes. An invalid file never stops the
 * gateway, and an invalid value turns no other key off.
 */
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import type { SecretRegistry } from '../lib/redact.ts'
import { type FileWatcher, watchFiles } from '../lib/watch-files.ts'
import type { Environment } from './environment.ts'
import { type ConfigIssue, dottedPath, formatIssue } from './issue.ts'
import type { KeyAlias } from './key-aliases.ts'
import type { EnvironmentBinding } from './overrides.ts'
import { type ConfigInput, loadFallback, readConfig } from './read-config.ts'
import type { SafeValue } from './replace-invalid.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import { changedPaths, overlaps } from './tree.ts'
import type { UnusedKey } from './unknown-keys.ts'
import type { UnusableSetting } from './unusable-settings.ts'

export interface ConfigOptions<Shape extends ConfigShape> {
  readonly home: HomeLayout
  /** The zod schemas of all modules, one per top-level key. */
  readonly shapes: Shape
  /** Reads the environment. Called for every reload, because `.env` may have changed. */
  readonly environment: () => Environment
  /** The environment variables that set values. */
  readonly environmentBindings: readonly EnvironmentBinding[]
  /** Keys of Hermes that no module reads. */
  readonly unusedKeys?: readonly UnusedKey[]
  /** Other spellings of keys. The first one with a value counts. */
  readonly keyAliases?: readonly KeyAlias[]
  /** What replaces invalid values. Default: the default of the key. */
  readonly safeValues?: readonly SafeValue[]
  /** Dotted paths that apply only after a restart. */
  readonly restartPaths?: readonly string[]
  /** Receives the secrets of the configuration, for the redactor. */
  readonly secrets?: SecretRegistry
  /** Whether the copy of the last valid configuration is updated. Default: true. Read-only commands set false. */
  readonly saveLastGood?: boolean
  readonly log: Logger
}

interface ConfigState {
  /** The origin of the current values. `defaults` also if there is no config.yaml. */
  readonly source: 'file' | 'last-good' | 'defaults'
  /** Issues of the current files. */
  readonly problems: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** Known keys that have no effect. */
  readonly notes: readonly ConfigIssue[]
  /** Why the current values differ from the files. Empty if they do not. */
  readonly degraded: readonly string[]
  /** Dotted paths of changes that apply after a restart. */
  readonly pendingRestart: readonly string[]
}

/** @param changed dotted paths, and `environment.NAME` for variables of `.env` */
type ConfigListener<Shape extends ConfigShape> = (value: ConfigOf<Shape>, changed: readonly string[]) => void

export interface Config<Shape extends ConfigShape> {
  current(): ConfigOf<Shape>
  /** The environment that belongs to `current`. */
  environment(): Environment
  /** Keys of chat accounts without a value, because it is invalid or its variable is not set. */
  unusableSettings(): readonly UnusableSetting[]
  state(): ConfigState
  /** What values mean, to judge a text before it is written. */
  rules(): RunningRules<Shape>
  /** Calls the listener after each applied change. Returns a function that removes it. Errors of a listener are logged. */
  onChange(listener: ConfigListener<Shape>): () => void
  /** Reads the files. Invalid files change only `state`. Never throws. */
  reload(): ConfigState
  /** Watches config.yaml and .env. A second call does nothing, nor does one after `stop`. */
  watch(): void
  /** Stops watching. May be called twice. */
  stop(): void
}

export interface RunningRules<Shape extends ConfigShape> extends ConfigInput<Shape> {
  /** Dotted paths that apply only after a restart. */
  readonly restartPaths: readonly string[]
  /** The values of the start. */
  readonly valueAtStart: ConfigOf<Shape>
}

/** What the modules currently use. */
interface LoadedConfig<Shape extends ConfigShape> {
  readonly value: ConfigOf<Shape>
  readonly unusable: readonly UnusableSetting[]
  readonly environment: Environment
}

interface RunningConfig<Shape extends ConfigShape> {
  readonly options: ConfigOptions<Shape>
  readonly report: IssueReporter
  readonly listeners: Set<ConfigListener<Shape>>
  /** Values of the start: a restart is pending while the current ones differ from them in a restart path. */
  readonly valueAtStart: ConfigOf<Shape>
  loaded: LoadedConfig<Shape>
  state: ConfigState
}

/**
 * Loads the configuration. Returns a valid value for any content of the files; `state` contains the issues.
 * @throws HermesError config/invalid if the defaults of a module do not match its schema
 */
export function createConfig<Shape extends ConfigShape>(options: ConfigOptions<Shape>): Config<Shape> {
  const { home, log } = options
  const report = createIssueReporter(log)
  const { loaded, state } = loadAtStart(options)
  report(state)
  const running: RunningConfig<Shape> = {
    options,
    report,
    listeners: new Set(),
    valueAtStart: loaded.value,
    loaded,
    state,
  }
  const reload = () => reloadFiles(running)
  let watching: FileWatcher | undefined
  let stopped = false
  return {
    current: () => running.loaded.value,
    environment: () => running.loaded.environment,
    unusableSettings: () => running.loaded.unusable,
    state: () => running.state,
    rules: () => ({
      ...inputOf(options, running.loaded.environment),
      restartPaths: options.restartPaths ?? [],
      valueAtStart: running.valueAtStart,
    }),
    onChange: (listener) => {
      running.listeners.add(listener)
      return () => {
        running.listeners.delete(listener)
      }
    },
    reload,
    watch() {
      if (!stopped) watching ??= watchFiles([home.configFile, home.envFile], reload, { log })
    },
    stop() {
      stopped = true
      watching?.close()
    },
  }
}

function inputOf<Shape extends ConfigShape>(
  options: ConfigOptions<Shape>,
  environment: Environment,
): ConfigInput<Shape> {
  const { home, shapes, environmentBindings, unusedKeys = [], keyAliases = [], safeValues = [] } = options
  return { home, shapes, environment, environmentBindings, unusedKeys, keyAliases, safeValues }
}

/** Reads the files, or falls back to the last valid configuration and then to the defaults. */
function loadAtStart<Shape extends ConfigShape>(
  options: ConfigOptions<Shape>,
): { loaded: LoadedConfig<Shape>; state: ConfigState } {
  const environment = options.environment()
  const input = inputOf(options, environment)
  const { value, unusable, secrets, issues, warnings, notes, ignored, text, reason, complete } = readConfig(input)
  options.secrets?.set('config', secrets)
  const result = { problems: issues, warnings, notes, pendingRestart: [] }
  if (value !== undefined) {
    if (text !== undefined && complete) writeLastGood(options, text)
    const source = text === undefined ? 'defaults' : 'file'
    return { loaded: { value, unusable, environment }, state: { ...result, source, degraded: ignored } }
  }
  const fallback = loadFallback(input)
  options.secrets?.set('config', [...secrets, ...fallback.secrets])
  const degraded = [...new Set([`${reason}; ${fallback.description}`, ...ignored, ...fallback.ignored])]
  return {
    loaded: { value: fallback.value, unusable: fallback.unusable, environment },
    state: { ...result, source: fallback.source, degraded },
  }
}

function reloadFiles<Shape extends ConfigShape>(running: RunningConfig<Shape>): ConfigState {
  const { options, report, loaded: before, state: stateBefore } = running
  const { log, restartPaths = [] } = options
  const environment = options.environment()
  const { value, unusable, secrets, issues, warnings, notes, ignored, text, reason, complete } = readConfig(
    inputOf(options, environment),
  )
  options.secrets?.set('config', secrets)
  // A missing file is usually being replaced or was lost; it does not mean that all settings are reset.
  const isMissing = text === undefined && issues.length === 0 && stateBefore.source !== 'defaults'
  if (value === undefined || isMissing) {
    const degraded = [`${isMissing ? 'config.yaml is missing' : reason}; the current configuration stays in use`]
    running.state = { ...stateBefore, problems: issues, warnings, notes, degraded }
    report(running.state)
    return running.state
  }
  running.loaded = { value, unusable, environment }
  if (text !== undefined && complete) writeLastGood(options, text)
  running.state = {
    source: text === undefined ? 'defaults' : 'file',
    problems: issues,
    warnings,
    notes,
    degraded: ignored,
    pendingRestart: pathsThatNeedRestart(running.valueAtStart, value, restartPaths),
  }
  report(running.state)
  const hasRecovered = stateBefore.degraded.length > 0 && ignored.length === 0
  if (hasRecovered) log.info({ event: 'config.recovered' }, 'the configuration is valid again')
  notifyListeners(running, changesBetween(before, running.loaded))
  return running.state
}

/** Dotted paths of changes that cannot be applied while the process runs. */
export function pathsThatNeedRestart(before: unknown, after: unknown, restartPaths: readonly string[]): string[] {
  return changedPaths(before, after).filter((path) => restartPaths.some((restart) => overlaps(path, restart)))
}

function notifyListeners<Shape extends ConfigShape>(running: RunningConfig<Shape>, changed: readonly string[]): void {
  if (changed.length === 0) return
  const { log } = running.options
  log.info({ event: 'config.reloaded', changed }, 'configuration reloaded')
  const paths = changed.filter((path) => running.state.pendingRestart.includes(path))
  if (paths.length > 0) log.warn({ event: 'config.restart_required', paths }, 'some changes apply after a restart')
  for (const listener of running.listeners) {
    try {
      listener(running.loaded.value, changed)
    } catch (error) {
      log.error(
        { event: 'config.listener_failed', err: error, changed },
        'a module could not apply the new configuration',
      )
    }
  }
}

/** Updates the copy that a later start uses if config.yaml is invalid then. */
function writeLastGood({ saveLastGood = true, home, log }: ConfigOptions<ConfigShape>, text: string): void {
  if (!saveLastGood) return
  try {
    if (readTextIfExists(home.lastGoodConfigFile) === text) return
    ensureDirectory(home.cache, 0o700)
    writeFileAtomic(home.lastGoodConfigFile, text, 0o600)
  } catch (error) {
    log.warn(
      { event: 'config.copy_failed', err: error },
      'the copy of the last valid configuration could not be written',
    )
  }
}

type IssueReporter = (state: ConfigState) => void

/** Logs each issue once, and again if it recurs after it was solved. */
function createIssueReporter(log: Logger): IssueReporter {
  let reported: ReadonlySet<string> = new Set()
  return ({ problems, warnings, notes, degraded }) => {
    const messages = new Map<string, 'info' | 'warn' | 'error'>()
    for (const note of notes) messages.set(formatIssue(note), 'info')
    // The message about the consequence contains the problem.
    const isContained = (text: string) => degraded.some((reason) => reason.includes(text))
    for (const text of problems.map(formatIssue)) if (!isContained(text)) messages.set(text, 'error')
    for (const warning of warnings) messages.set(formatIssue(warning), 'warn')
    for (const message of degraded) messages.set(message, 'error')
    for (const [message, level] of messages) if (!reported.has(message)) log[level]({ event: 'config.issue' }, message)
    reported = new Set(messages.keys())
  }
}

/** Dotted paths of changed values and of keys that became unusable or resolved, and `environment.NAME` for variables. */
function changesBetween<Shape extends ConfigShape>(before: LoadedConfig<Shape>, after: LoadedConfig<Shape>): string[] {
  const values = changedPaths(before.value, after.value)
  const variables = changedUnusableSettings(before.unusable, after.unusable)
  const environment = changedPaths(before.environment.values, after.environment.values, 'environment')
  return [...new Set([...values, ...variables]), ...environment]
}

/** Dotted paths of keys that became unusable or resolved, which a comparison of the values does not find. */
function changedUnusableSettings(before: readonly UnusableSetting[], after: readonly UnusableSetting[]): string[] {
  const pathsOf = (variables: readonly UnusableSetting[]) => variables.map(({ path }) => dottedPath(path))
  const [a, b] = [pathsOf(before), pathsOf(after)]
  return [...a.filter((path) => !b.includes(path)), ...b.filter((path) => !a.includes(path))]
}
