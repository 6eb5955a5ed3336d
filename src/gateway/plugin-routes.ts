/**
 * The gateway's HTTP addresses for `hermes plugins`: what plugins there are and how they do, and following config.yaml now.
 */

import type { Redactor } from '../lib/redact.ts'
import type { HttpRoute } from '../platforms/adapter.ts'
import type { GatewayPlugins } from './plugins.ts'

type Plugins = Pick<GatewayPlugins, 'list' | 'follow'>

/**
 * @param reload reads the configuration anew
 * @param redact takes secrets out of what plugins threw
 */
export function pluginRoutes(plugins: Plugins, reload: () => void, redact: Redactor): HttpRoute[] {
  const answer = async () =>
    new Response(redact(JSON.stringify({ plugins: await plugins.list() })), {
      headers: { 'content-type': 'application/json' },
    })
  return [
    { method: 'GET', path: '/api/plugins', access: 'token', handle: answer },
    {
      method: 'POST',
      path: '/api/plugins/reload',
      access: 'token',
      async handle() {
        reload()
        await plugins.follow()
        return await answer()
      },
    },
  ]
}
