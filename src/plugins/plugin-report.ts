/**
 * Builds the reports about plugins for `hermes plugins list`, `hermes status` and the API.
 */
import type { CataloguedPlugin, PluginCatalogue } from './catalogue.ts'
import type { PluginHookReport } from './hooks/plugin-hooks.ts'
import type { RegisteredItem } from './registrations.ts'

export interface PluginReport {
  /** The name of the folder, with its category. */
  readonly id: string
  /** From the manifest. */
  readonly name: string
  readonly version: string
  readonly description: string
  readonly author: string
  readonly kind: string
  /** `typescript`, `javascript`, `python`; '' if unknown. */
  readonly language: string
  readonly origin: 'bundled' | 'home' | ''
  readonly folder: string
  /**
   * `enabled`: it is loaded when a gateway starts. `off`: the configuration does not mention it. `disabled`:
   * `plugins.disabled` names it. `failed`: it is enabled but cannot be loaded. `invalid`: its folder cannot be used.
   * `missing`: it is enabled but not installed.
   */
  readonly state: 'loaded' | 'enabled' | 'off' | 'disabled' | 'failed' | 'invalid' | 'missing'
  /** Why it is not loaded; '' when it is loaded or not enabled. */
  readonly reason: string
  /** Why the newest version is not active; '' if it is. */
  readonly problem: string
  /** One sentence each. Includes `problem`. */
  readonly warnings: readonly string[]
  readonly requires: readonly string[]
  /** In the order of registration; empty unless loaded. */
  readonly registered: readonly RegisteredItem[]
  /** Statistics of its hooks; empty unless loaded. */
  readonly hooks: readonly PluginHookReport[]
  /** How long loading took, ms; null unless loaded. */
  readonly loadMs: number | null
}

/** An enabled plugin that does not work as its files and the configuration say. */
export interface PluginFailure {
  readonly id: string
  /** The state of `PluginReport`, or `old version` if the newest version is not active. */
  readonly state: PluginReport['state'] | 'old version'
  readonly reason: string
}

/** The state of plugins in a running gateway. */
export interface PluginRuntimeState {
  loaded(id: string): LoadedPluginReport | undefined
  /** Why a plugin could not be loaded. */
  failure(id: string): string | undefined
}

export interface LoadedPluginReport
  extends Pick<PluginReport, 'problem' | 'warnings' | 'registered' | 'hooks' | 'loadMs'> {
  /** Why a loaded plugin does not work any more; '' when it works. */
  readonly failureReason: string
}

export const emptyRuntimeState: PluginRuntimeState = { loaded: () => undefined, failure: () => undefined }

/** Ordered by id. */
export function createPluginReports(
  { plugins, invalid, missing }: PluginCatalogue,
  runtime: PluginRuntimeState,
): PluginReport[] {
  const reports: PluginReport[] = [
    ...plugins.map((plugin) => createPluginReport(plugin, runtime)),
    ...invalid.map(({ id, origin, directory, reason }) => ({
      ...emptyReport,
      id,
      origin,
      folder: directory,
      reason: runtime.loaded(id) === undefined ? reason : describeKept(reason),
      registered: runtime.loaded(id)?.registered ?? [],
      name: id,
    })),
    ...missing.map(({ id, reason }) => ({ ...emptyReport, id, reason, name: id, state: 'missing' as const })),
  ]
  return reports.sort((a, b) => (a.id < b.id ? -1 : 1))
}

const emptyReport = {
  version: '',
  description: '',
  author: '',
  kind: '',
  language: '',
  origin: '',
  folder: '',
  state: 'invalid',
  problem: '',
  warnings: [],
  requires: [],
  registered: [],
  hooks: [],
  loadMs: null,
} as const

function createPluginReport(
  { found: plugin, desiredState, blockedReason, warnings }: CataloguedPlugin,
  runtime: PluginRuntimeState,
): PluginReport {
  const { id, manifest, origin, directory, entryFile } = plugin
  const { name, version, description, author, kind } = manifest
  const identity = {
    id,
    name,
    version,
    description,
    author,
    kind,
    origin,
    folder: directory,
    language: languageOf(entryFile),
  }
  const requires = manifest.requiresPlugins.map((required) => required.id)
  const common = { ...emptyReport, ...identity, requires, warnings }
  const loaded = runtime.loaded(id)
  if (loaded !== undefined) {
    const { failureReason, ...more } = loaded
    const state = failureReason === '' ? 'loaded' : 'failed'
    const allWarnings = [...warnings, ...loaded.warnings]
    if (blockedReason === '') return { ...common, ...more, warnings: allWarnings, state, reason: failureReason }
    const problem = describeKept(blockedReason)
    return { ...common, ...more, problem, warnings: [...allWarnings, problem], state, reason: failureReason }
  }
  if (desiredState !== 'enabled') return { ...common, state: desiredState, reason: '' }
  const reason = blockedReason === '' ? (runtime.failure(id) ?? '') : blockedReason
  return { ...common, state: reason === '' ? 'enabled' : 'failed', reason }
}

function describeKept(reason: string): string {
  return `${reason}; the version that was loaded before stays in force`
}

function languageOf(entryFile: string): string {
  if (entryFile.endsWith('.py')) return 'python'
  return entryFile.endsWith('.ts') ? 'typescript' : 'javascript'
}

/** The enabled plugins that do not work, or not in their newest version, for `hermes status`. */
export function pluginFailures(reports: readonly PluginReport[], isEnabled: (id: string) => boolean): PluginFailure[] {
  return reports.flatMap(({ id, state, reason, problem }): PluginFailure[] => {
    const isFailure = state === 'failed' || state === 'missing' || (state === 'invalid' && isEnabled(id))
    if (isFailure) return [{ id, state, reason }]
    return state === 'loaded' && problem !== '' ? [{ id, state: 'old version', reason: problem }] : []
  })
}
