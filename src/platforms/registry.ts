/**
 * Finds the platforms that are installed. Reads their manifests only; an adapter's code runs when it is first needed.
 */
import { access, readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { type Logger, silentLog } from '../lib/log.ts'
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
  /** What is wrong with it, with file and line where there is one. */
  readonly reason: string
}

export interface PlatformCatalogue {
  /** Sorted by name, each name once. */
  readonly platforms: readonly InstalledPlatform[]
  readonly invalid: readonly InvalidPlatform[]
}

export interface DiscoverOptions {
  /** Folders of platform folders, the ones shipped with the gateway first. Those that do not exist are skipped. */
  readonly directories: readonly string[]
  readonly log: Logger
}

/**
 * A folder counts when it holds a `plugin.yaml` of kind `platform`. A later folder takes the place of an earlier one
 * of the same folder name; a platform's name taken by another folder is refused. Never throws: what cannot be used
 * is listed with its reason and logged, and harms nothing else.
 */
export async function discoverPlatforms({ directories, log }: DiscoverOptions): Promise<PlatformCatalogue> {
  const platforms = new Map<string, InstalledPlatform>()
  const invalid: InvalidPlatform[] = []
  const reject = (directory: string, reason: string) => {
    invalid.push({ directory, reason })
    log.warn({ event: 'platform.folder_rejected', directory, reason }, 'platform folder cannot be used')
  }
  for (const parent of directories) {
    for (const directory of await listDirectories(parent, reject)) {
      const found = await readPlatform(directory)
      if (found === undefined) continue
      if (typeof found === 'string') {
        reject(directory, found)
        continue
      }
      const known = platforms.get(found.name)
      if (known !== undefined && basename(known.directory) !== basename(directory)) {
        reject(
          directory,
          `the name ${found.name} belongs to ${known.directory}; only a folder of that name replaces it`,
        )
        continue
      }
      if (known !== undefined)
        log.info(
          { event: 'platform.folder_replaced', platform: found.name, directory },
          'platform folder replaces another',
        )
      platforms.set(found.name, found)
    }
  }
  return { platforms: [...platforms.values()].sort((one, other) => (one.name < other.name ? -1 : 1)), invalid }
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

/** Sorted, so that the outcome does not depend on the file system. Linked folders count. */
async function listDirectories(parent: string, refuse: (directory: string, reason: string) => void): Promise<string[]> {
  try {
    const entries = await readdir(parent, { withFileTypes: true })
    return entries
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('.') && !name.startsWith('__'))
      .sort()
      .map((name) => join(parent, name))
  } catch (error) {
    if (!isNotFound(error)) refuse(parent, `the folder cannot be read: ${messageOf(error)}`)
    return []
  }
}

/** The second three are entries of plugins: seed 004 has platforms register themselves. */
const adapterFileNames = ['adapter.ts', 'adapter.js', 'adapter.mjs', 'index.ts', 'index.js', 'index.mjs']

/** The platform in a folder, a sentence that says why it cannot be used, or undefined where there is none. */
async function readPlatform(directory: string): Promise<InstalledPlatform | string | undefined> {
  try {
    const manifestFile = await findFirstFile(['plugin.yaml', 'plugin.yml'], directory)
    if (manifestFile === undefined) return undefined
    const check = parseManifest(await readFile(manifestFile, 'utf8'), manifestFile)
    if (check.kind === 'other') return undefined
    if (check.kind === 'invalid') return check.issues.join('; ')
    const adapterFile = await findFirstFile(adapterFileNames, directory)
    if (adapterFile === undefined) return `${directory}: expected a file adapter.ts, .js or .mjs, found none`
    return { ...check.manifest, directory, adapterFile }
  } catch (error) {
    return `the folder cannot be read: ${messageOf(error)}`
  }
}

async function findFirstFile(names: readonly string[], directory: string): Promise<string | undefined> {
  for (const name of names) {
    const file = join(directory, name)
    try {
      await access(file)
      return file
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
  return undefined
}

function isNotFound(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}
