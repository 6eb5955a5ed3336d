/**
 * All plugins there are, each with whether it is wanted and what keeps it from being loaded. Runs nothing of them.
 */
import type { PluginsConfig } from './config.ts'
import { contractVersion } from './contract-version.ts'
import { discoverPlugins, type FoundPlugin, type PluginDiscovery, type PluginFolder } from './discovery.ts'
import { bareName, type MissingPlugin, missingPlugins, type Wish, wishFor } from './enabled.ts'
import { loadOrder } from './order.ts'

export interface CatalogueDeps {
  readonly roots: readonly PluginFolder[]
  readonly settings: Pick<PluginsConfig, 'plugins' | 'memory'>
  readonly environment: Readonly<Record<string, string>>
}

export interface CataloguedPlugin {
  readonly found: FoundPlugin
  readonly wish: Wish
  /** Why it is not loaded although it is wanted; '' when it can be. */
  readonly obstacle: string
  /** What is odd about its surroundings but keeps nothing from working. */
  readonly warnings: readonly string[]
}

export interface PluginCatalogue extends Pick<PluginDiscovery, 'unusable' | 'warnings'> {
  /** Those that are wanted in the order in which they are loaded, then the others by id. */
  readonly plugins: readonly CataloguedPlugin[]
  readonly missing: readonly MissingPlugin[]
  /** Whether the configuration asks for it, usable or not. */
  isWanted(id: string): boolean
}

/** Whether what a plugin requires is this one: by id, or by the bare name of its folder. */
export function isCalled(name: string, id: string): boolean {
  return name === id || name === bareName(id)
}

/** Never rejects. */
export async function cataloguePlugins({ roots, settings, environment }: CatalogueDeps): Promise<PluginCatalogue> {
  const { plugins, unusable, warnings } = discoverPlugins(roots)
  const ids = [...plugins, ...unusable].map(({ id }) => id)
  const isWanted = (id: string) => wishFor(settings, id, ids) === 'enabled'
  const wanted = plugins.filter(({ id }) => isWanted(id))
  const ordered = loadOrder(
    wanted.map((found) => ({ id: found.id, requires: found.manifest.requiresPlugins, found })),
    isCalled,
  )
  const circle = ordered.circle.join(', ')
  const entries: CataloguedPlugin[] = []
  for (const { found } of ordered.order) {
    const own = await requirementDoubts(found, wanted)
    if (ordered.circle.includes(found.id)) own.push(`${circle} require each other; they are loaded by their names`)
    const obstacle = (await obstacleFor(found, environment)) ?? ''
    entries.push({ found, wish: 'enabled', obstacle, warnings: own })
  }
  for (const found of plugins) {
    const wish = wishFor(settings, found.id, ids)
    if (wish !== 'enabled') entries.push({ found, wish, obstacle: '', warnings: [] })
  }
  return { plugins: entries, unusable, warnings, missing: missingPlugins(settings, ids), isWanted }
}

async function obstacleFor(
  { manifest, manifestFile }: FoundPlugin,
  environment: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  if (manifest.kind === 'model-provider') return `${manifestFile}: plugins of kind model-provider cannot be used here`
  const { requiresHermes } = manifest
  if (requiresHermes !== undefined) {
    const { checkVersion } = await import('./versions.ts')
    const verdict = checkVersion(contractVersion, requiresHermes)
    if (verdict === 'no-range') return `${manifestFile}: requires_hermes: ${requiresHermes} is no range of versions`
    if (verdict === 'outside') return `it requires Hermes ${requiresHermes}; this gateway implements ${contractVersion}`
  }
  const unset = manifest.requiresEnv.filter((name) => (environment[name] ?? '') === '')
  if (unset.length > 0) return `it requires ${unset.join(', ')}, which ${unset.length === 1 ? 'is' : 'are'} not set`
  return undefined
}

async function requirementDoubts(plugin: FoundPlugin, wanted: readonly FoundPlugin[]): Promise<string[]> {
  const doubts: string[] = []
  for (const { id, range } of plugin.manifest.requiresPlugins) {
    const other = wanted.find((one) => isCalled(id, one.id))
    if (other === undefined) {
      doubts.push(`it requires the plugin ${id}, which is not enabled`)
      continue
    }
    if (range === undefined) continue
    const { version } = other.manifest
    const { checkVersion } = await import('./versions.ts')
    const verdict = checkVersion(version, range)
    if (verdict === 'no-range') doubts.push(`requires_plugins: ${range} is no range of versions`)
    if (verdict === 'outside') doubts.push(`it requires ${id} ${range}, and ${version} is there`)
  }
  return doubts
}
