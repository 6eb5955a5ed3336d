/**
 * Finds the installed platforms by their manifests. The code of an adapter is imported when it is first needed.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { type Logger, silentLog } from '../lib/log.ts'
import { extensionFolders } from '../lib/safe-files.ts'
import type { PlatformModule } from './adapter.ts'
import { type PlatformManifest, parseManifest } from './manifest.ts'
import { loadSelfRegistered } from './self-registration.ts'

export interface InstalledPlatform extends PlatformManifest {
  readonly directory: string
  /** The file whose default export is a `PlatformModule`, or that exports `register` and calls `registerPlatform`. */
  readonly adapterFile: string
}

interface InvalidPlatform {
  readonly directory: string
  /** The issue, with file and line if known. */
  readonly reason: string
}

export interface PlatformCatalogue {
  /** Sorted by name. Names are unique. */
  readonly platforms: readonly InstalledPlatform[]
  readonly invalid: readonly InvalidPlatform[]
}

/** The toolsets that platforms declare, by the name of the platform. */
export function declaredToolsets({ platforms }: Pick<PlatformCatalogue, 'platforms'>): ReadonlyMap<string, string> {
  return new Map(platforms.flatMap(({ name, toolset }) => (toolset === undefined ? [] : [[name, toolset]])))
}

export interface DiscoverOptions {
  /** Directories that contain platform directories, those of the gateway first. Missing ones are skipped. */
  readonly directories: readonly string[]
  readonly log: Logger
}

/**
 * A platform is a directory with a `plugin.yaml` of kind `platform`. A later directory replaces an earlier one with the same
 * directory name. A directory with another name cannot use the name of an existing platform. Never throws: an invalid
 * directory is logged and listed with its reason, and does not affect the others.
 */
export function discoverPlatforms({ directories, log }: DiscoverOptions): PlatformCatalogue {
  const platforms = new Map<string, InstalledPlatform>()
  const invalid: InvalidPlatform[] = []
  const reject = (directory: string, reason: string) => {
    invalid.push({ directory, reason })
    log.warn({ event: 'platform.folder_rejected', directory, reason }, 'platform folder cannot be used')
  }
  for (const parent of directories) {
    for (const directory of listDirectories(parent, reject)) {
      const platform = readPlatform(directory)
      if (platform === undefined) continue
      if (typeof platform === 'string') {
        reject(directory, platform)
        continue
      }
      const known = platforms.get(platform.name)
      if (known !== undefined && basename(known.directory) !== basename(directory)) {
        reject(
          directory,
          `the name ${platform.name} belongs to ${known.directory}; only a folder with the same folder name can replace it`,
        )
        continue
      }
      if (known !== undefined)
        log.info(
          { event: 'platform.folder_replaced', platform: platform.name, directory },
          'platform folder replaces another',
        )
      platforms.set(platform.name, platform)
    }
  }
  return { platforms: [...platforms.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), invalid }
}

/**
 * Imports an adapter. Throws `platform/invalid` when the file cannot be imported or exports something else.
 * Cannot be aborted; the runtime imports a file once.
 */
export async function loadPlatform(
  platform: Pick<InstalledPlatform, 'name' | 'adapterFile'>,
  log: Logger = silentLog,
): Promise<PlatformModule> {
  const { name, adapterFile } = platform
  let exports: unknown
  try {
    exports = await import(pathToFileURL(adapterFile).href)
  } catch (error) {
    throw new HermesError('platform/invalid', `${adapterFile} cannot be imported: ${messageOf(error)}`, {
      cause: error,
    })
  }
  const module = typeof exports === 'object' && exports !== null && 'default' in exports ? exports.default : undefined
  if (isPlatformModule(module)) return module
  const registered = await loadSelfRegistered(exports, platform, log)
  if (registered !== undefined) return registered
  throw new HermesError(
    'platform/invalid',
    `${adapterFile}: expected \`export default definePlatform({ createAdapter })\`, found no createAdapter (${name}).`,
  )
}

function isPlatformModule(value: unknown): value is PlatformModule {
  return (
    typeof value === 'object' && value !== null && 'createAdapter' in value && typeof value.createAdapter === 'function'
  )
}

function listDirectories(parent: string, reject: (directory: string, reason: string) => void): string[] {
  try {
    return extensionFolders(readdirSync(parent, { withFileTypes: true })).map((name) => join(parent, name))
  } catch (error) {
    if (!isNotFound(error)) reject(parent, `the folder cannot be read: ${messageOf(error)}`)
    return []
  }
}

/** `index.*` is the entry file of a plugin that registers a platform (seed 004). */
const adapterFileNames = ['adapter.ts', 'adapter.js', 'adapter.mjs', 'index.ts', 'index.js', 'index.mjs']

/** The platform in a directory, the reason why it is invalid, or undefined if the directory contains no platform. */
function readPlatform(directory: string): InstalledPlatform | string | undefined {
  try {
    const manifestFile = findFirstFile(['plugin.yaml', 'plugin.yml'], directory)
    if (manifestFile === undefined) return undefined
    const check = parseManifest(readFileSync(manifestFile, 'utf8'), manifestFile)
    if (check.kind === 'other') return undefined
    if (check.kind === 'invalid') return check.issues.join('; ')
    const adapterFile = findFirstFile(adapterFileNames, directory)
    if (adapterFile === undefined) return 'expected a file adapter.ts, .js or .mjs, found none'
    return { ...check.manifest, directory, adapterFile }
  } catch (error) {
    return `the folder cannot be read: ${messageOf(error)}`
  }
}

function findFirstFile(names: readonly string[], directory: string): string | undefined {
  return names.map((name) => join(directory, name)).find((file) => statSync(file, { throwIfNoEntry: false }))
}

function isNotFound(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}
