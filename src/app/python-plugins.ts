/**
 * Composes the loader of Python plugins with the host processes that run them. Their code is imported with the first one.
 */
import type { Config } from '../config/load.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { LoadPython } from '../plugins/load-plugin.ts'
import type { GatewayShapes } from './config.ts'

export interface PythonPluginsDeps {
  readonly home: HomeLayout
  readonly config: Config<GatewayShapes>
  readonly clock: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

export function createPythonLoader(deps: PythonPluginsDeps): LoadPython {
  const { home, config, clock, random, sleep } = deps
  return async (plugin, context, turn) => {
    const [{ createPythonPlugins }, { createHost }, { baseEnvironment }] = await Promise.all([
      import('../plugins/python/python-plugins.ts'),
      import('../hosts/host.ts'),
      import('../hooks/host-groups.ts'),
    ])
    const python = createPythonPlugins({
      clock,
      random,
      sleep,
      createHost,
      home: home.root,
      hookTimeoutMs: () => config.current().plugins.hook_callback_timeout * 1_000,
      launchOptionsOf({ manifest: { requiresEnv, optionalEnv } }) {
        const { plugins, hooks } = config.current()
        const { values } = config.environment()
        const seen = plugins.env === 'all' ? values : baseEnvironment(values, [...requiresEnv, ...optionalEnv])
        return { env: { ...seen, HERMES_HOME: home.root }, command: hooks.python }
      },
    })
    return await python.load(plugin, context, turn)
  }
}
