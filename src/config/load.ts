/**
 * The configuration of the running process: loaded once at start, followed while it runs, never a reason to stop.
 */
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import { type Watch, watchFiles } from '../lib/watch.ts'
import type { Environment } from './environment.ts'
import type { Gap } from './gaps.ts'
import type { EnvironmentName } from './overrides.ts'
import { type ConfigProblem, dotted, formatProblem } from './problem.ts'
import { type ConfigInput, fallBack, readConfig } from './resolve.ts'
import type { Secrets } from './secrets.ts'
import type { ConfigOf, ConfigShape } from './section.ts'
import { changedPaths, overlaps } from './tree.ts'

export interface ConfigOptions<Shape extends ConfigShape> {
  readonly home: HomeLayout
  /** The zod types of all rooms, one per top-level key. */
  readonly shapes: Shape
  /** Reads the environment; asked again at every reload, because `.env` may have changed. */
  readonly environment: () => Environment
  /** Which variables set which values. */
  readonly environmentNames: readonly EnvironmentName[]
  /** Dotted keys that no room reads but users may have: `compression`, `platforms.*.extra`. */
  readonly acceptedKeys?: readonly string[]
  /** Dotted paths that count at the next start only. */
  readonly restartPaths?: readonly string[]
  /** Learns what must not be shown; hand its `all` to the redactor. */
  readonly secrets?: Secrets
  /** False for commands that only look: the last good copy is left alone. True if left out. */
  readonly keepsLastGood?: boolean
  readonly log: Logger
}

interface ConfigState {
  /** Where the values in use come from; `defaults` also where there is no config.yaml at all. */
  readonly source: 'file' | 'last-good' | 'defaults'
  /** What is wrong with the files as they are now. */
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigProblem[]
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
  gaps(): readonly Gap[]
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
  const { home, shapes, environmentNames, acceptedKeys = [], restartPaths = [], secrets, log } = options
  const listeners = new Set<ConfigListener<Shape>>()
  const inputWith = (variables: Environment): ConfigInput<Shape> => {
    return { home, shapes, environment: variables, environmentNames, acceptedKeys }
  }
  let environment = options.environment()
  let watching: Watch | undefined
  let stopped = false
  let reported = new Set<string>()

  const atStart = start()
  let value = atStart.value
  let gaps = atStart.gaps
  let state = atStart.state

  function start(): { value: ConfigOf<Shape>; gaps: readonly Gap[]; state: ConfigState } {
    const input = inputWith(environment)
    const reading = readConfig(input)
    const { problems, warnings, ignored, text } = reading
    secrets?.set('config', reading.secrets)
    const found = { problems, warnings, pendingRestart: [] }
    if (reading.value !== undefined) {
      if (text !== undefined) keepLastGood(text)
      const source = text === undefined ? 'defaults' : 'file'
      return { value: reading.value, gaps: reading.gaps, state: report({ ...found, source, degraded: ignored }) }
    }
    const fallback = fallBack(input)
    secrets?.set('config', [...reading.secrets, ...fallback.secrets])
    const degraded = [...new Set([`${reading.reason}; ${fallback.instead}`, ...ignored, ...fallback.ignored])]
    return {
      value: fallback.value,
      gaps: fallback.gaps,
      state: report({ ...found, source: fallback.source, degraded }),
    }
  }

  function reload(): ConfigState {
    const nextEnvironment = options.environment()
    const reading = readConfig(inputWith(nextEnvironment))
    const { problems, warnings, ignored, text } = reading
    secrets?.set('config', reading.secrets)
    // A file that is gone is more likely being replaced, or lost, than meant as "forget everything".
    const gone = text === undefined && problems.length === 0 && state.source !== 'defaults'
    if (reading.value === undefined || gone) {
      const why = gone ? 'config.yaml is gone' : reading.reason
      state = report({ ...state, problems, warnings, degraded: [`${why}; the running configuration stays`] })
      return state
    }
    const wasDegraded = state.degraded.length > 0
    const before = { value, gaps, environment }
    value = reading.value
    gaps = reading.gaps
    environment = nextEnvironment
    if (text !== undefined) keepLastGood(text)
    const source = text === undefined ? 'defaults' : 'file'
    state = report({ source, problems, warnings, degraded: ignored, pendingRestart: waiting(atStart.value, value) })
    if (wasDegraded && ignored.length === 0) log.info({}, 'the configuration is in order again')
    tell([
      ...new Set([...changedPaths(before.value, value), ...changedGaps(before.gaps, gaps)]),
      ...changedPaths(before.environment.values, environment.values, 'environment'),
    ])
    return state
  }

  /** Changes that cannot be applied while the process runs. */
  function waiting(before: unknown, after: unknown): string[] {
    return changedPaths(before, after).filter((path) => restartPaths.some((restart) => overlaps(path, restart)))
  }

  function tell(changed: readonly string[]): void {
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

  function keepLastGood(text: string): void {
    if (options.keepsLastGood === false) return
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
    for (const problem of next.problems) sentences.set(formatProblem(problem), 'error')
    for (const warning of next.warnings) sentences.set(formatProblem(warning), 'warn')
    for (const sentence of next.degraded) sentences.set(sentence, 'error')
    for (const [sentence, level] of sentences) if (!reported.has(sentence)) log[level]({}, sentence)
    reported = new Set(sentences.keys())
    return next
  }

  return {
    current: () => value,
    environment: () => environment,
    gaps: () => gaps,
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
function changedGaps(before: readonly Gap[], after: readonly Gap[]): string[] {
  const pathsOf = (gaps: readonly Gap[]) => gaps.map(({ path }) => dotted(path))
  const [one, other] = [pathsOf(before), pathsOf(after)]
  return [...one.filter((path) => !other.includes(path)), ...other.filter((path) => !one.includes(path))]
}
