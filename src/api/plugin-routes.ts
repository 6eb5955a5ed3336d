/**
 * The gateway's HTTP addresses for `hermes plugins`: the plugins and their state, and a reload of config.yaml.
 */

import type { PluginManager } from '../flows/plugins/plugin-manager.ts'
import type { Redactor } from '../lib/redact.ts'
import type { HttpRoute } from '../platforms/adapter.ts'

type PluginAdmin = Pick<PluginManager, 'list' | 'sync'>

/**
 * @param reload reads the configuration again
 * @param redact takes secrets out of what plugins threw
 */
export function pluginRoutes(plugins: PluginAdmin, reload: () => void, redact: Redactor): HttpRoute[] {
  const listPlugins = async () =>
    new Response(redact(JSON.stringify({ plugins: await plugins.list() })), {
      headers: { 'content-type': 'application/json' },
    })
  return [
    { method: 'GET', path: '/api/plugins', access: 'token', handle: listPlugins },
    {
      method: 'POST',
      path: '/api/plugins/reload',
      access: 'token',
      async handle() {
        reload()
        await plugins.sync()
        return await listPlugins()
      },
    },
  ]
}
