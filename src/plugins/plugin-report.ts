/**
 * What `hermes plugins list`, the status and the API say of a plugin.
 */
import type { CataloguedPlugin, PluginCatalogue } from './catalogue.ts'
import type { PluginHookReport } from './hooks/plugin-hooks.ts'
import type { RegisteredItem } from './registrations.ts'

export interface PluginReport {
  /** The folder's name, with its category. */
  readonly id: string
  /** What its manifest calls it. */
  readonly name: string
  readonly version: string
  readonly description: string
  readonly author: string
  readonly kind: string
  /** `typescript`, `javascript`, `python`; '' where it cannot be told. */
  readonly language: string
  readonly origin: 'bundled' | 'home' | ''
  readonly folder: string
  /**
   * `enabled`: it is loaded when a gateway starts. `off`: nobody has asked for it. `disabled`: somebody asked for it not
   * to be loaded. `failed`: it is wanted, and cannot be loaded. `invalid`: its folder cannot be used. `missing`: it is
   * wanted, and there is none of this name.
   */
  readonly state: 'loaded' | 'enabled' | 'off' | 'disabled' | 'failed' | 'invalid' | 'missing'
  /** Why it is not loaded; '' when it is, or when nobody asked for it. */
  readonly reason: string
  /** What is odd about it, a sentence each. */
  readonly warnings: readonly string[]
  readonly requires: readonly string[]
  /** In the order of registration; empty while it is not loaded. */
  readonly registered: readonly RegisteredItem[]
  /** How its hooks did since they were registered; empty while it is not loaded. */
  readonly hooks: readonly PluginHookReport[]
  /** How long it took to load, ms; null while it is not loaded. */
  readonly loadMs: number | null
}

/** A plugin that does not do what its owner wants of it, in one line. */
export type PluginFailure = Pick<PluginReport, 'id' | 'state' | 'reason'>

/** What a process knows of plugins that it has loaded, or tried to. */
export interface PluginRuntimeState {
  loaded(id: string): LoadedPluginReport | undefined
  /** Why it could not be loaded. */
  failure(id: string): string | undefined
}

export interface LoadedPluginReport extends Pick<PluginReport, 'warnings' | 'registered' | 'hooks' | 'loadMs'> {
  /** Why it does nothing although it was loaded; '' when it works. */
  readonly failureReason: string
}

export const emptyRuntimeState: PluginRuntimeState = { loaded: () => undefined, failure: () => undefined }

/** By id. */
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
      reason,
      name: id,
    })),
    ...missing.map(({ id, reason }) => ({ ...emptyReport, id, reason, name: id, state: 'missing' as const })),
  ]
  return reports.sort((one, other) => (one.id < other.id ? -1 : 1))
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
  warnings: [],
  requires: [],
  registered: [],
  hooks: [],
  loadMs: null,
} as const

function createPluginReport(
  { found, desiredState, blockedReason, warnings }: CataloguedPlugin,
  runtime: PluginRuntimeState,
): PluginReport {
  const { id, manifest, origin, directory, entryFile } = found
  const { name, version, description, author, kind } = manifest
  const about = {
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
  const common = { ...emptyReport, ...about, requires, warnings }
  const loaded = runtime.loaded(id)
  if (loaded !== undefined) {
    const { failureReason, ...more } = loaded
    const state = failureReason === '' ? 'loaded' : 'failed'
    return { ...common, ...more, warnings: [...warnings, ...loaded.warnings], state, reason: failureReason }
  }
  if (desiredState !== 'enabled') return { ...common, state: desiredState, reason: '' }
  const reason = blockedReason === '' ? (runtime.failure(id) ?? '') : blockedReason
  return { ...common, state: reason === '' ? 'enabled' : 'failed', reason }
}

function languageOf(entryFile: string): string {
  if (entryFile.endsWith('.py')) return 'python'
  return entryFile.endsWith('.ts') ? 'typescript' : 'javascript'
}

/** What `hermes status` says of plugins: nothing of those that work, nor of those that nobody asked for. */
export function pluginFailures(reports: readonly PluginReport[], isEnabled: (id: string) => boolean): PluginFailure[] {
  return reports.flatMap(({ id, state, reason }) => {
    const isFailure = state === 'failed' || state === 'missing' || (state === 'invalid' && isEnabled(id))
    return isFailure ? [{ id, state, reason }] : []
  })
}
