/**
 * A HookRegistry on a home with the same options as in the gateway.
 */
import { join } from 'node:path'
import { hooksConfig } from '../../../src/hooks/config.ts'
import { noPluginEvents } from '../../../src/hooks/plugin-events.ts'
import { createHookRegistry, type HookRegistry } from '../../../src/hooks/registry.ts'
import { createHost } from '../../../src/hosts/host.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { hookEventNames } from '../../../src/message/hook-events.ts'

export interface HooksHome {
  readonly home: string
  readonly path: string
  readonly python: string | undefined
  send?(): void
}

export function registryOn({ home, path, python, send = () => undefined }: HooksHome): HookRegistry {
  const folder = join(home, 'hooks')
  const settings = hooksConfig.hooks.parse({ python: python ?? 'python3' })
  return createHookRegistry({
    roots: [{ path: folder, origin: 'home' }],
    folder,
    home,
    cacheFolder: join(home, 'cache'),
    manifestCache: join(home, 'cache', 'hooks.json'),
    settings: () => settings,
    environment: () => ({ PATH: path, HOME: home }),
    createHost,
    emittedEvents: () => [...hookEventNames, 'command:new'],
    resolveCommand: (name) => name,
    services: { send: async () => send(), startAgent: async () => '' },
    pluginEvents: noPluginEvents,
    newId: () => '',
    acceptsAll: () => false,
    clock: Date.now,
    log: silentLog,
  })
}
