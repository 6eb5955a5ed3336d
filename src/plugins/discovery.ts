/**
 * Finds plugins in the plugin directories (contract §2.1). Reads manifests and checks the owner and the permissions of
 * files, but runs no plugin code.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import { checkFileSafety, checkImportableFiles, findOnlyFile, readManifest, resolveRoot } from '../lib/safe-files.ts'
import { type ManifestDefaults, type PluginManifest, parsePluginManifest } from './manifest.ts'

export type PluginLanguage = 'node' | 'python'

export interface PluginRoot {
  readonly path: string
  /** `bundled` with the gateway, or in the home of the user. */
  readonly origin: 'bundled' | 'home'
}

export interface DiscoveredPlugin {
  /** The name of the folder, with its category: `otel`, `observability/otel`. */
  readonly id: string
  readonly origin: PluginRoot['origin']
  /** Absolute. */
  readonly directory: string
  readonly manifestFile: string
  /** The file that exports `register`. */
  readonly entryFile: string
  readonly language: PluginLanguage
  readonly manifest: PluginManifest
}

/** A plugin folder that cannot be used. */
export interface InvalidPlugin {
  readonly id: string
  readonly origin: PluginRoot['origin']
  readonly directory: string
  /** With file and line if known. */
  readonly reason: string
}

/** The platform registry finds platforms. */
const platformCategory = 'platforms'
/** `terminal.backend` names those that come with the gateway. */
const environmentCategory = 'environments'

/** Folder names are used in the configuration, in commands and in file names. */
const folderNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/

export type PluginDiscovery = ReturnType<typeof discoverPlugins>

/**
 * A folder with a manifest is a plugin; a folder without one is a category, which is searched one level deep. A plugin of a
 * later root replaces a plugin of the same id. Never throws.
 * @param roots the bundled root first; roots that do not exist are skipped
 */
export function discoverPlugins(roots: readonly PluginRoot[]) {
  /** Ordered by id. */
  const plugins = new Map<string, DiscoveredPlugin>()
  const invalid = new Map<string, InvalidPlugin>()
  /** Issues that do not prevent loading, one sentence each. */
  const warnings: string[] = []
  for (const { path, origin } of roots) {
    for (const { id, folder: directory, found: inspected } of findCandidates(path, origin)) {
      plugins.delete(id)
      invalid.delete(id)
      if ('reason' in inspected) invalid.set(id, { id, origin, directory, reason: inspected.reason })
      else {
        plugins.set(id, inspected.plugin)
        warnings.push(...inspected.warnings)
      }
    }
  }
  const byId = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1)
  return { plugins: [...plugins.values()].sort(byId), invalid: [...invalid.values()].sort(byId), warnings }
}

type InspectionResult =
  | { readonly plugin: DiscoveredPlugin; readonly warnings: readonly string[] }
  | { readonly reason: string }
  | undefined

interface Candidate {
  readonly id: string
  readonly folder: string
  readonly found: NonNullable<InspectionResult>
}

function findCandidates(path: string, origin: PluginRoot['origin']): Candidate[] {
  const listed = listDirectories(path)
  if ('reason' in listed) return [{ id: basename(path), folder: path, found: listed }]
  return listed.names.flatMap((name) => {
    const folder = join(path, name)
    const inspected = inspectCandidate({ root: path, origin, folder, id: name, category: undefined })
    if (inspected !== undefined) return [{ id: name, folder, found: inspected }]
    if (name === platformCategory || (origin === 'bundled' && name === environmentCategory)) return []
    const within = listDirectories(folder)
    // A folder that cannot be read is not a category.
    if ('reason' in within) return []
    return within.names.flatMap((inner) => {
      const location = { root: path, origin, folder: join(folder, inner), id: `${name}/${inner}`, category: name }
      const inspected = inspectCandidate(location)
      return inspected === undefined ? [] : [{ id: location.id, folder: location.folder, found: inspected }]
    })
  })
}

/** Includes symbolic links; `checkFileSafety` rejects links that leave the root. */
function listDirectories(path: string): { readonly names: readonly string[] } | { readonly reason: string } {
  try {
    const names = readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('.') && !/^__.*__$/.test(name) && name !== 'node_modules')
    return { names: names.sort() }
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return { names: [] }
    return { reason: `the folder cannot be read: ${messageOf(error)}` }
  }
}

interface CandidateLocation {
  readonly root: string
  readonly origin: PluginRoot['origin']
  readonly folder: string
  readonly id: string
  readonly category: string | undefined
}

/** Undefined without a manifest: the folder is not a plugin. */
function inspectCandidate({ root, origin, folder: directory, id, category }: CandidateLocation): InspectionResult {
  try {
    const top = resolveRoot(root)
    const above = category === undefined ? [] : [join(root, category)]
    const manifest = findManifest(directory, top)
    if (manifest === undefined) return undefined
    if ('reason' in manifest) return manifest
    if (!folderNamePattern.test(basename(directory)) || (category !== undefined && !folderNamePattern.test(category))) {
      return { reason: `${directory}: expected a folder named with at most 64 letters, digits, ., - and _` }
    }
    const rules: ManifestDefaults = {
      directoryName: basename(directory),
      ...(category === 'memory' ? { kind: 'exclusive' as const } : {}),
    }
    const check = parsePluginManifest(manifest.text, manifest.file, rules)
    if (!check.ok) return { reason: check.issues.join('; ') }
    if (check.manifest.kind === 'platform') {
      return { reason: `${directory}: this is a platform; platforms belong in platforms/ or plugins/platforms/` }
    }
    const entry = findEntryFile(directory)
    if ('reason' in entry) return entry
    const harmless = checkFileSafety([...above, directory, manifest.file, entry.file], top)
    if (!harmless.ok) return { reason: harmless.reason }
    const importable = checkImportableFiles(directory)
    if (!importable.ok) return { reason: importable.reason }
    const plugin: DiscoveredPlugin = {
      id,
      origin,
      directory,
      manifestFile: manifest.file,
      entryFile: entry.file,
      language: entry.language,
      manifest: check.manifest,
    }
    return { plugin, warnings: check.warnings }
  } catch (error) {
    const code = systemCode(error)
    // A broken link, or a link to a file.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    return { reason: `${directory}: ${messageOf(error)}` }
  }
}

function findManifest(folder: string, root: string) {
  for (const name of ['plugin.yaml', 'plugin.yml']) {
    const file = join(folder, name)
    const read = readManifest(file, folder, root)
    if (read !== undefined) return 'reason' in read ? read : { file, text: read.text }
  }
  return undefined
}

const languageByEntryName: ReadonlyMap<string, PluginLanguage> = new Map([
  ['index.ts', 'node'],
  ['index.js', 'node'],
  ['index.mjs', 'node'],
  ['__init__.py', 'python'],
])

/** The file that exports `register`. Throws a system error when the folder cannot be read. */
function findEntryFile(
  directory: string,
): { readonly file: string; readonly language: PluginLanguage } | { readonly reason: string } {
  const code = findOnlyFile(directory, (name) => languageByEntryName.has(name), [
    'entry',
    'index.ts, index.js or __init__.py',
  ])
  if ('reason' in code) return code
  const { file, name } = code
  return { file, language: languageByEntryName.get(name) ?? 'node' }
}
