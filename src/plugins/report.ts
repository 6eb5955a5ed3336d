/**
 * What `hermes plugins list`, the status and the API say of a plugin.
 */
import type { CataloguedPlugin, PluginCatalogue } from './catalogue.ts'
import type { HookReport } from './hooks/hooks.ts'
import type { Registered } from './registrations.ts'

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
  readonly registered: readonly Registered[]
  /** How its hooks did since they were registered; empty while it is not loaded. */
  readonly hooks: readonly HookReport[]
  /** How long it took to load, ms; null while it is not loaded. */
  readonly loadMs: number | null
}

/** A plugin that does not do what its owner wants of it, in one line. */
export type PluginTrouble = Pick<PluginReport, 'id' | 'state' | 'reason'>

/** What a process knows of plugins that it has loaded, or tried to. */
export interface Known {
  loaded(id: string): LoadedReport | undefined
  /** Why it could not be loaded. */
  failure(id: string): string | undefined
}

export interface LoadedReport extends Pick<PluginReport, 'warnings' | 'registered' | 'hooks' | 'loadMs'> {
  /** Why it does nothing although it was loaded; '' when it works. */
  readonly fault: string
}

export const nothingKnown: Known = { loaded: () => undefined, failure: () => undefined }

/** By id. */
export function reportsOf({ plugins, unusable, missing }: PluginCatalogue, known: Known): PluginReport[] {
  const reports: PluginReport[] = [
    ...plugins.map((plugin) => reportOf(plugin, known)),
    ...unusable.map(({ id, origin, folder, reason }) => ({ ...blank, id, origin, folder, reason, name: id })),
    ...missing.map(({ id, reason }) => ({ ...blank, id, reason, name: id, state: 'missing' as const })),
  ]
  return reports.sort((one, other) => (one.id < other.id ? -1 : 1))
}

const blank = {
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

function reportOf({ found, wish, obstacle, warnings }: CataloguedPlugin, known: Known): PluginReport {
  const { id, manifest, origin, folder, entryFile } = found
  const { name, version, description, author, kind } = manifest
  const about = { id, name, version, description, author, kind, origin, folder, language: languageOf(entryFile) }
  const requires = manifest.requiresPlugins.map((required) => required.id)
  const common = { ...blank, ...about, requires, warnings }
  const loaded = known.loaded(id)
  if (loaded !== undefined) {
    const { fault, ...more } = loaded
    const state = fault === '' ? 'loaded' : 'failed'
    return { ...common, ...more, warnings: [...warnings, ...loaded.warnings], state, reason: fault }
  }
  if (wish !== 'enabled') return { ...common, state: wish, reason: '' }
  const reason = obstacle === '' ? (known.failure(id) ?? '') : obstacle
  return { ...common, state: reason === '' ? 'enabled' : 'failed', reason }
}

function languageOf(entryFile: string): string {
  if (entryFile.endsWith('.py')) return 'python'
  return entryFile.endsWith('.ts') ? 'typescript' : 'javascript'
}

/** What `hermes status` says of plugins: nothing of those that work, nor of those that nobody asked for. */
export function pluginTroubles(reports: readonly PluginReport[], isWanted: (id: string) => boolean): PluginTrouble[] {
  return reports.flatMap(({ id, state, reason }) => {
    const isTrouble = state === 'failed' || state === 'missing' || (state === 'invalid' && isWanted(id))
    return isTrouble ? [{ id, state, reason }] : []
  })
}
