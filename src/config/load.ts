/**
 * The configuration of the running process: loaded once at start, followed while it runs, never a reason to stop.
 */
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import { type FileWatcher, watchFiles } from '../lib/watch-files.ts'
import type { Environment } from './environment.ts'
import { type ConfigIssue, dottedPath, formatIssue } from './issue.ts'
import type { EnvironmentBinding } from './overrides.ts'
import { type ConfigInput, loadFallback, readConfig } from './read-config.ts'
import type { SecretRegistry } from './secrets.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import { changedPaths, overlaps } from './tree.ts'
import type { UnresolvedVariable } from './unresolved-variables.ts'

export interface ConfigOptions<Shape extends ConfigShape> {
  readonly home: HomeLayout
  /** The zod types of all rooms, one per top-level key. */
  readonly shapes: Shape
  /** Reads the environment; asked again at every reload, because `.env` may have changed. */
  readonly environment: () => Environment
  /** Which variables set which values. */
  readonly environmentBindings: readonly EnvironmentBinding[]
  /** Dotted keys that no room reads but users may have: `compression`, `platforms.*.extra`. */
  readonly acceptedKeys?: readonly string[]
  /** Dotted paths that count at the next start only. */
  readonly restartPaths?: readonly string[]
  /** Learns what must not be shown; hand its `all` to the redactor. */
  readonly secrets?: SecretRegistry
  /** False for commands that only look: the last good copy is left alone. True if left out. */
  readonly saveLastGood?: boolean
  readonly log: Logger
}

interface ConfigState {
  /** Where the values in use come from; `defaults` also where there is no config.yaml at all. */
  readonly source: 'file' | 'last-good' | 'defaults'
  /** What is wrong with the files as they are now. */
  readonly problems: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** Why the process does not run with what the files say; empty when all is well. */
  readonly degraded: readonly string[]
  /** Dotted paths that were changed since the start and wait for the next one. */
  readonly pendingRestart: readonly string[]
}

/** @param changed dotted paths, and `environment.NAME` for variables of `.env` */
type ConfigListener<Shape extends ConfigShape> = (value: ConfigOf<Shape>, changed: readonly string[]) => void

export interface Config<Shape extends ConfigShape> {
  current(): ConfigOf<Shape>
  /** The environment that belongs to `current`. */
  environment(): Environment
  /** What `current` lacks because a variable is not set: keys of chat accounts, which cannot be used without. */
  unresolvedVariables(): readonly UnresolvedVariable[]
  state(): ConfigState
  /** Calls the listener after each change that was applied. Returns what ends it. What a listener throws is logged. */
  onChange(listener: ConfigListener<Shape>): () => void
  /** Reads the files now. What cannot be used changes nothing but `state`. Never throws. */
  reload(): ConfigState
  /** Follows config.yaml and .env from now on; a second call does nothing, nor does one after `stop`. */
  watch(): void
  /** Stops following. May be called twice. */
  stop(): void
}

/**
 * Loads the configuration. Whatever is in the files, a usable value comes out and `state` says what is wrong.
 * @throws HermesError config/invalid when a room's own defaults do not fit its types
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
    // A file that is gone is more likely being replaced, or lost, than meant as "forget everything".
    const gone = text === undefined && issues.length === 0 && state.source !== 'defaults'
    if (reading.value === undefined || gone) {
      const why = gone ? 'config.yaml is gone' : reading.reason
      state = report({ ...state, problems: issues, warnings, degraded: [`${why}; the running configuration stays`] })
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
    if (wasDegraded && ignored.length === 0) log.info({}, 'the configuration is in order again')
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
    log.info({ changed }, 'the configuration has changed')
    const later = changed.filter((path) => state.pendingRestart.includes(path))
    if (later.length > 0) log.warn({ paths: later }, 'these changes count after a restart')
    for (const listener of listeners) {
      try {
        listener(value, changed)
      } catch (error) {
        log.error({ err: error, changed }, 'a part of the gateway could not take over the new configuration')
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
      log.warn({ err: error }, 'no copy of the configuration could be kept for bad days')
    }
  }

  /** Each sentence once, until it has gone and comes back. */
  function report(next: ConfigState): ConfigState {
    const sentences = new Map<string, 'warn' | 'error'>()
    for (const problem of next.problems) sentences.set(formatIssue(problem), 'error')
    for (const warning of next.warnings) sentences.set(formatIssue(warning), 'warn')
    for (const sentence of next.degraded) sentences.set(sentence, 'error')
    for (const [sentence, level] of sentences) if (!reported.has(sentence)) log[level]({}, sentence)
    reported = new Set(sentences.keys())
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

/** Dotted paths of keys that came to lack something, or lack it no more: a value they never had has not changed. */
function changedUnresolvedVariables(
  before: readonly UnresolvedVariable[],
  after: readonly UnresolvedVariable[],
): string[] {
  const pathsOf = (gaps: readonly UnresolvedVariable[]) => gaps.map(({ path }) => dottedPath(path))
  const [one, other] = [pathsOf(before), pathsOf(after)]
  return [...one.filter((path) => !other.includes(path)), ...other.filter((path) => !one.includes(path))]
}
