/**
 * Watches the folders of plugins and platforms in the home. An edited plugin is reloaded. An adapter holds connections and
 * messages in flight, so a changed platform is only reported and takes effect after a restart.
 */
import { basename, join, relative, sep } from 'node:path'
import { messageOf } from '../../lib/errors.ts'
import { ensureDirectory, isWithin } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Logger } from '../../lib/log.ts'
import { isSourceFile } from '../../lib/safe-files.ts'
import { type DirectoryWatcher, watchDirectories } from '../../lib/watch-files.ts'

/** `<category>/<plugin>`, and some folders below. */
const depth = 4
const manifestNames = ['plugin.yaml', 'plugin.yml']

export type ExtensionWatcher = ReturnType<typeof createExtensionWatcher>

/** @param syncPlugins must not reject */
export function createExtensionWatcher(
  home: Pick<HomeLayout, 'plugins' | 'platforms' | 'pairing'>,
  syncPlugins: (changedFiles: readonly string[]) => Promise<void>,
  log: Logger,
) {
  const changed = new Set<string>()
  let watcher: DirectoryWatcher | undefined

  async function onChange(paths: readonly string[]): Promise<void> {
    const names = paths.map((path) => ({ path, platform: platformOf(path) }))
    for (const { platform } of names) if (platform !== undefined) reportPlatform(platform)
    const pluginFiles = names.filter(({ platform }) => platform === undefined).map(({ path }) => path)
    // Without paths: everything is watched from now on, and earlier changes have to be found.
    if (pluginFiles.length > 0 || paths.length === 0) await syncPlugins(pluginFiles)
  }

  /** The name of the folder below `platforms/` or `plugins/platforms/` that a path belongs to. */
  function platformOf(path: string): string | undefined {
    // The pairing store is in the same folder, and is no platform.
    if (isWithin(path, home.pairing)) return ''
    for (const root of [home.platforms, join(home.plugins, 'platforms')]) {
      if (path.startsWith(`${root}${sep}`)) return relative(root, path).split(sep)[0]
    }
    return path === home.platforms || path === join(home.plugins, 'platforms') ? '' : undefined
  }

  function reportPlatform(name: string): void {
    const entry = `platforms/${name}`
    if (name === '' || changed.has(entry)) return
    changed.add(entry)
    log.warn(
      { event: 'platform.restart_required', platform: name },
      'a platform was changed; it takes effect after a restart',
    )
  }

  return {
    start() {
      const roots = [home.plugins, home.platforms]
      for (const root of roots) createDirectory(root)
      watcher ??= watchDirectories(roots, onChange, { log, depth, includes: isExtensionFile })
    },
    /** `platforms/<name>` of each adapter that was added, changed or removed since the start, sorted. */
    changedPlatforms: () => [...changed].sort(),
    /** May be called twice. */
    stop: () => watcher?.close(),
  }

  /** The watcher would wait for a missing directory by watching the home, where the database is written. */
  function createDirectory(path: string): void {
    try {
      ensureDirectory(path)
    } catch (error) {
      log.warn(
        { event: 'home.directory_not_created', path, err: error },
        `a directory cannot be created: ${messageOf(error)}`,
      )
    }
  }
}

/** Data files are left out: a plugin may write them into its own folder. */
function isExtensionFile(path: string): boolean {
  return manifestNames.includes(basename(path)) || isSourceFile(path)
}
