/**
 * Composes the plugin manager. The code that loads plugins is imported with the first plugin.
 */
import { createPluginManager, type PluginManager } from '../flows/plugins/plugin-manager.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'
import { pluginDirectories } from './plugin-directories.ts'
import type { PluginAgent } from './plugin-runtime.ts'

export function composePluginManager(context: AppContext, core: Core, agent: PluginAgent): PluginManager {
  const { home, settings, config, stopping } = context
  const { hooks, memory, daemons, middleware, gatewayHooks } = core.pluginRegistries
  return createPluginManager({
    roots: pluginDirectories(home),
    settings,
    environment: config.environment,
    ...{ hooks, memory, daemons, middleware, gatewayHooks, stopping },
    setLoading(loading) {
      core.pluginRegistries.loading = loading
    },
    async openRuntime() {
      const { openPluginRuntime } = await import('./plugin-runtime.ts')
      core.pluginRegistries.connect()
      return openPluginRuntime(context, core, agent)
    },
  })
}
