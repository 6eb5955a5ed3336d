/**
 * Composes the loader of Python plugins with the host processes that run them. Their code is imported with the first one.
 */
import { sleep } from '../lib/timers.ts'
import type { LoadPython } from '../plugins/load-plugin.ts'
import type { AppContext } from './context.ts'

type PythonContext = Pick<AppContext, 'home' | 'config' | 'clock' | 'random'>

export function createPythonLoader({ home, config, clock, random }: PythonContext): LoadPython {
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
