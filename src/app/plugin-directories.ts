/**
 * Where plugins are looked for.
 */
import { fileURLToPath } from 'node:url'
import type { HomeLayout } from '../lib/home.ts'
import type { PluginRoot } from '../plugins/discovery.ts'

/** Plugins that ship with the gateway. */
const bundledPluginsDirectory = fileURLToPath(new URL('../../plugins', import.meta.url))

export function pluginDirectories(home: Pick<HomeLayout, 'plugins'>): readonly PluginRoot[] {
  return [
    { path: bundledPluginsDirectory, origin: 'bundled' },
    { path: home.plugins, origin: 'home' },
  ]
}
