/**
 * Lists all installed plugins with their desired state and the reasons that prevent loading. Runs no plugin code.
 */
import type { PluginsConfig } from './config.ts'
import {
  ambiguousDisabled,
  type DesiredState,
  desiredStateOf,
  isCalled,
  type MissingPlugin,
  missingPlugins,
  type NamedPlugin,
} from './desired-state.ts'
import { type DiscoveredPlugin, discoverPlugins, type PluginDiscovery, type PluginRoot } from './discovery.ts'
import { loadOrder } from './load-order.ts'

/** The version of the plugin contract that this gateway implements. `requires_hermes` is compared with it. */
const contractVersion = '0.21.3'

export interface CataloguedPlugin {
  readonly found: DiscoveredPlugin
  readonly desiredState: DesiredState
  /** Why an enabled plugin cannot be loaded; '' when it can. */
  readonly blockedReason: string
  /** Issues that do not prevent loading. */
  readonly warnings: readonly string[]
}

export interface PluginCatalogue extends Pick<PluginDiscovery, 'invalid' | 'warnings'> {
  /** Enabled plugins in the order of loading, then the others by id. */
  readonly plugins: readonly CataloguedPlugin[]
  readonly missing: readonly MissingPlugin[]
  /** Whether the configuration enables the plugin, even if it cannot be loaded. */
  isEnabled(id: string): boolean
}

export function toNamedPlugin({ id, manifest: { name } }: DiscoveredPlugin): NamedPlugin {
  return { id, name }
}

/** Never rejects. */
export async function cataloguePlugins(
  roots: readonly PluginRoot[],
  settings: Pick<PluginsConfig, 'plugins' | 'memory'>,
  environment: Readonly<Record<string, string>>,
): Promise<PluginCatalogue> {
  const { plugins, invalid, warnings } = discoverPlugins(roots)
  const installed = [...plugins.map(toNamedPlugin), ...invalid.map(({ id }) => ({ id }))]
  const isEnabled = (id: string) => desiredStateOf(settings, id, installed) === 'enabled'
  const enabled = plugins.filter(({ id }) => isEnabled(id))
  const ordered = loadOrder(
    enabled.map((plugin) => ({ ...toNamedPlugin(plugin), requires: plugin.manifest.requiresPlugins, found: plugin })),
  )
  const cycle = ordered.cycle.join(', ')
  const entries: CataloguedPlugin[] = []
  for (const { found: plugin } of ordered.order) {
    const pluginWarnings = await requirementIssues(plugin, enabled)
    if (ordered.cycle.includes(plugin.id))
      pluginWarnings.push(
        `the plugins ${cycle} require each other (dependency cycle); they are loaded in alphabetical order`,
      )
    const blockedReason = (await blockedReasonFor(plugin, environment)) ?? ''
    entries.push({ found: plugin, desiredState: 'enabled', blockedReason, warnings: pluginWarnings })
  }
  for (const plugin of plugins) {
    const desiredState = desiredStateOf(settings, plugin.id, installed)
    if (desiredState !== 'enabled') entries.push({ found: plugin, desiredState, blockedReason: '', warnings: [] })
  }
  return {
    plugins: entries,
    invalid,
    warnings: [...warnings, ...ambiguousDisabled(settings, installed)],
    missing: missingPlugins(settings, installed),
    isEnabled,
  }
}

async function blockedReasonFor(
  { manifest, manifestFile }: DiscoveredPlugin,
  environment: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  if (manifest.kind === 'model-provider') return `${manifestFile}: plugins of kind model-provider are not supported`
  const { requiresHermes } = manifest
  if (requiresHermes !== undefined) {
    const { checkVersion } = await import('./version-range.ts')
    const versionCheck = checkVersion(contractVersion, requiresHermes)
    if (versionCheck === 'invalid-range')
      return `${manifestFile}: requires_hermes: expected a version range, found ${requiresHermes}`
    if (versionCheck === 'outside')
      return `it requires Hermes ${requiresHermes}; this gateway implements ${contractVersion}`
  }
  const unset = manifest.requiresEnv.filter((name) => (environment[name] ?? '') === '')
  if (unset.length > 0) return `it requires ${unset.join(', ')}, which ${unset.length === 1 ? 'is' : 'are'} not set`
  return undefined
}

async function requirementIssues(
  plugin: DiscoveredPlugin,
  enabledPlugins: readonly DiscoveredPlugin[],
): Promise<string[]> {
  const issues: string[] = []
  for (const { id, range } of plugin.manifest.requiresPlugins) {
    const other = enabledPlugins.find((other) => isCalled(id, toNamedPlugin(other)))
    if (other === undefined) {
      issues.push(`it requires the plugin ${id}, which is not enabled`)
      continue
    }
    if (range === undefined) continue
    const { version } = other.manifest
    const { checkVersion } = await import('./version-range.ts')
    const versionCheck = checkVersion(version, range)
    if (versionCheck === 'invalid-range') issues.push(`requires_plugins: expected a version range, found ${range}`)
    if (versionCheck === 'outside') issues.push(`it requires ${id} ${range}; version ${version} is installed`)
  }
  return issues
}
