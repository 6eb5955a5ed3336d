/**
 * The configuration of the running process: loaded at the start and reloaded on changes. An invalid file never stops the
 * gateway.
 */
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import type { SecretRegistry } from '../lib/redact.ts'
import { type FileWatcher, watchFiles } from '../lib/watch-files.ts'
import type { Environment } from './environment.ts'
import { type ConfigIssue, dottedPath, formatIssue } from './issue.ts'
import type { EnvironmentBinding } from './overrides.ts'
import { type ConfigInput, loadFallback, readConfig } from './read-config.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import { changedPaths, overlaps } from './tree.ts'
import type { UnresolvedVariable } from './unresolved-variables.ts'

export interface ConfigOptions<Shape extends ConfigShape> {
  readonly home: HomeLayout
  /** The zod schemas of all modules, one per top-level key. */
  readonly shapes: Shape
  /** Reads the environment. Called for every reload, because `.env` may have changed. */
  readonly environment: () => Environment
  /** The environment variables that set values. */
  readonly environmentBindings: readonly EnvironmentBinding[]
  /** Dotted keys that no module reads but that are allowed: `compression`, `platforms.*.extra`. */
  readonly acceptedKeys?: readonly string[]
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
  /** Keys of chat accounts without a value, because their variable is not set. */
  unresolvedVariables(): readonly UnresolvedVariable[]
  state(): ConfigState
  /** Calls the listener after each applied change. Returns a function that removes it. Errors of a listener are logged. */
  onChange(listener: ConfigListener<Shape>): () => void
  /** Reads the files. Invalid files change only `state`. Never throws. */
  reload(): ConfigState
  /** Follows config.yaml and .env from now on; a second call does nothing, nor does one after `stop`. */
  watch(): void
  /** Stops following. May be called twice. */
  stop(): void
}

/**
 * Loads the configuration. Returns a valid value for any content of the files; `state` contains the issues.
 * @throws HermesError config/invalid if the defaults of a module do not match its schema
 */
export function createConfig<Shape extends ConfigShape>(options: ConfigOptions<Shape>): Config<Shape> {
  const { home, shapes, environmentBindings, acceptedKeys = [], restartPaths = [], secrets, log } = options
  const listeners = new Set<ConfigListener<Shape>>()
  const inputWith = (variables: Environment): ConfigInput<Shape> => {
    return { home, shapes, environment: variables, environmentBindings, acceptedKeys }
  }
  let environment = options.environment()
  let watching: FileWatcher | undefined
  let stopped = false
  let reported = new Set<string>()

  const atStart = start()
  let value = atStart.value
  let gaps = atStart.gaps
  let state = atStart.state

  function start(): { value: ConfigOf<Shape>; gaps: readonly UnresolvedVariable[]; state: ConfigState } {
    const input = inputWith(environment)
    const readResult = readConfig(input)
    const { issues, warnings, ignored, text } = readResult
    secrets?.set('config', readResult.secrets)
    const found = { problems: issues, warnings, pendingRestart: [] }
    if (readResult.value !== undefined) {
      if (text !== undefined) writeLastGood(text)
      const source = text === undefined ? 'defaults' : 'file'
      return {
        value: readResult.value,
        gaps: readResult.unresolved,
        state: report({ ...found, source, degraded: ignored }),
      }
    }
    const fallback = loadFallback(input)
    secrets?.set('config', [...readResult.secrets, ...fallback.secrets])
    const degraded = [...new Set([`${readResult.reason}; ${fallback.description}`, ...ignored, ...fallback.ignored])]
    return {
      value: fallback.value,
      gaps: fallback.unresolved,
      state: report({ ...found, source: fallback.source, degraded }),
    }
  }

  function reload(): ConfigState {
    const nextEnvironment = options.environment()
    const reading = readConfig(inputWith(nextEnvironment))
    const { issues, warnings, ignored, text } = reading
    secrets?.set('config', reading.secrets)
    // A missing file is usually being replaced or was lost; it does not mean that all settings are reset.
    const isMissing = text === undefined && issues.length === 0 && state.source !== 'defaults'
    if (reading.value === undefined || isMissing) {
      const reason = isMissing ? 'config.yaml is missing' : reading.reason
      state = report({
        ...state,
        problems: issues,
        warnings,
        degraded: [`${reason}; the current configuration stays in use`],
      })
      return state
    }
    const wasDegraded = state.degraded.length > 0
    const before = { value, gaps, environment }
    value = reading.value
    gaps = reading.unresolved
    environment = nextEnvironment
    if (text !== undefined) writeLastGood(text)
    const source = text === undefined ? 'defaults' : 'file'
    state = report({
      source,
      problems: issues,
      warnings,
      degraded: ignored,
      pendingRestart: pendingRestart(atStart.value, value),
    })
    if (wasDegraded && ignored.length === 0) log.info({ event: 'config.recovered' }, 'the configuration is valid again')
    notifyListeners([
      ...new Set([...changedPaths(before.value, value), ...changedUnresolvedVariables(before.gaps, gaps)]),
      ...changedPaths(before.environment.values, environment.values, 'environment'),
    ])
    return state
  }

  /** Changes that cannot be applied while the process runs. */
  function pendingRestart(before: unknown, after: unknown): string[] {
    return changedPaths(before, after).filter((path) => restartPaths.some((restart) => overlaps(path, restart)))
  }

  function notifyListeners(changed: readonly string[]): void {
    if (changed.length === 0) return
    log.info({ event: 'config.reloaded', changed }, 'configuration reloaded')
    const later = changed.filter((path) => state.pendingRestart.includes(path))
    if (later.length > 0)
      log.warn({ event: 'config.restart_required', paths: later }, 'some changes apply after a restart')
    for (const listener of listeners) {
      try {
        listener(value, changed)
      } catch (error) {
        log.error(
          { event: 'config.listener_failed', err: error, changed },
          'a module could not apply the new configuration',
        )
      }
    }
  }

  function writeLastGood(text: string): void {
    if (options.saveLastGood === false) return
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

  /** Logs each issue once, and again if it recurs after it was solved. */
  function report(next: ConfigState): ConfigState {
    const messages = new Map<string, 'warn' | 'error'>()
    for (const problem of next.problems) messages.set(formatIssue(problem), 'error')
    for (const warning of next.warnings) messages.set(formatIssue(warning), 'warn')
    for (const message of next.degraded) messages.set(message, 'error')
    for (const [message, level] of messages) if (!reported.has(message)) log[level]({ event: 'config.issue' }, message)
    reported = new Set(messages.keys())
    return next
  }

  return {
    current: () => value,
    environment: () => environment,
    unresolvedVariables: () => gaps,
    state: () => state,
    onChange: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
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

/** Dotted paths of keys that became unresolved or resolved, which a comparison of the values does not find. */
function changedUnresolvedVariables(
  before: readonly UnresolvedVariable[],
  after: readonly UnresolvedVariable[],
): string[] {
  const pathsOf = (gaps: readonly UnresolvedVariable[]) => gaps.map(({ path }) => dottedPath(path))
  const [one, other] = [pathsOf(before), pathsOf(after)]
  return [...one.filter((path) => !other.includes(path)), ...other.filter((path) => !one.includes(path))]
}
