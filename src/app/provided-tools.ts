/**
 * Tools that installed plugins say they provide, whether they are loaded or not. Their names may stand in lists of toolsets.
 */
import type { SelectableTool } from '../agent/toolsets/select-tools.ts'
import type { HomeLayout } from '../lib/home.ts'
import { discoverPlugins } from '../plugins/discovery.ts'
import { pluginDirectories } from './plugin-directories.ts'

/** Reads the manifests and runs no code of a plugin. Never throws. */
export function providedTools(home: Pick<HomeLayout, 'plugins'>): readonly SelectableTool[] {
  return discoverPlugins(pluginDirectories(home)).plugins.flatMap(({ manifest }) =>
    manifest.providesTools.map((name) => ({ name, toolset: manifest.name })),
  )
}
