/**
 * Finds the hooks that lie in the folders: reads manifests, checks that nobody else could have put them there, runs
 * nothing. Synchronous: a start with ten hooks costs less so than waiting ten times.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import { checkFileSafety, readManifest, resolveRoot } from '../lib/safe-files.ts'
import { findHandlerFile } from './handler-file.ts'
import { type HookManifest, type ManifestOptions, parseHookManifest } from './manifest.ts'

export interface HookRoot {
  readonly path: string
  /** `shipped` with the gateway, or the user's own. */
  readonly origin: 'shipped' | 'home'
}

export interface DiscoveredHook {
  /** Unique; what commands, the log and hosts call it. The name of its manifest, unless that is taken. */
  readonly id: string
  readonly origin: HookRoot['origin']
  /** Absolute. */
  readonly folder: string
  readonly manifestFile: string
  readonly handlerFile: string
  readonly language: 'node' | 'python'
  readonly manifest: HookManifest
}

/** A folder that looks like a hook and cannot be used. */
export interface InvalidHook {
  readonly id: string
  readonly folder: string
  /** What is wrong, with file and line where there is one. */
  readonly reason: string
}

export interface DiscoveryResult {
  /** In the order in which they hear an event: by priority, then by path. */
  readonly hooks: readonly DiscoveredHook[]
  readonly invalid: readonly InvalidHook[]
  /** What is odd but harms nothing, a sentence each. */
  readonly warnings: readonly string[]
  /** All folders of hooks, also of those that cannot be used. */
  readonly folders: readonly string[]
}

export interface DiscoverHooksOptions extends Pick<ManifestOptions, 'eventIssue'> {
  /** `parseHookManifest`, if left out. */
  readonly parseManifest?: typeof parseHookManifest
  /** The shipped ones first. A later folder takes the place of an earlier one of the same name. */
  readonly roots: readonly HookRoot[]
}

/** Never throws. */
export function discoverHooks({
  roots,
  eventIssue,
  parseManifest = parseHookManifest,
}: DiscoverHooksOptions): DiscoveryResult {
  const invalid: InvalidHook[] = []
  const warnings: string[] = []
  const folders = new Map<string, { readonly root: HookRoot; readonly folder: string }>()
  for (const root of roots) {
    for (const folder of listHookFolders(root.path, invalid)) folders.set(basename(folder), { root, folder })
  }
  const hooks: DiscoveredHook[] = []
  const taken = new Set<string>()
  for (const { root, folder } of [...folders.values()].sort(compareFolders)) {
    const options: ManifestOptions = { folder: basename(folder), eventIssue }
    const found = inspectFolder(root, folder, options, { read: parseManifest, warnings })
    if (found === undefined) continue
    if ('reason' in found) {
      invalid.push(found)
      continue
    }
    const id = uniqueName(found.manifest.name, basename(folder), taken)
    if (id !== found.manifest.name)
      warnings.push(`${found.manifestFile}: the name ${found.manifest.name} is taken; this hook is called ${id}`)
    taken.add(id)
    hooks.push({ ...found, id })
  }
  // Stable: those of one priority stay in the order of their paths.
  hooks.sort((one, other) => one.manifest.priority - other.manifest.priority)
  return { hooks, invalid, warnings, folders: [...folders.values()].map(({ folder }) => folder) }
}

type FolderEntry = { readonly root: HookRoot; readonly folder: string }

function compareFolders(one: FolderEntry, other: FolderEntry): number {
  if (one.root.origin !== other.root.origin) return one.root.origin === 'shipped' ? -1 : 1
  return one.folder < other.folder ? -1 : 1
}

/** Linked folders count, if they lead to another place in the same folder of hooks. */
function listHookFolders(path: string, invalid: InvalidHook[]): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('.') && !name.startsWith('__'))
      .sort()
      .map((name) => join(path, name))
  } catch (error) {
    const code = systemCode(error)
    if (code !== 'ENOENT') {
      invalid.push({ id: basename(path), folder: path, reason: `the folder cannot be read: ${messageOf(error)}` })
    }
    return []
  }
}

type InspectionResult = Omit<DiscoveredHook, 'id'> | InvalidHook | undefined

/** Undefined where there is no manifest: then it is some other folder. */
function inspectFolder(
  root: HookRoot,
  folder: string,
  options: ManifestOptions,
  { read, warnings }: { readonly read: typeof parseHookManifest; readonly warnings: string[] },
): InspectionResult {
  const invalidHook = (reason: string): InvalidHook => ({ id: options.folder, folder, reason })
  const manifestFile = join(folder, 'HOOK.yaml')
  try {
    const top = resolveRoot(root.path)
    const text = readManifest(manifestFile, folder, top)
    if (text === undefined) return undefined
    if ('reason' in text) return invalidHook(text.reason)
    const check = read(text.text, manifestFile, options)
    if (!check.ok) return invalidHook(check.issues.join('; '))
    const handler = findHandlerFile(folder)
    if ('reason' in handler) return invalidHook(handler.reason)
    const harmless = checkFileSafety([folder, manifestFile, handler.file], top)
    if (!harmless.ok) return invalidHook(harmless.reason)
    warnings.push(...check.warnings)
    return {
      origin: root.origin,
      folder,
      manifestFile,
      handlerFile: handler.file,
      language: handler.language,
      manifest: check.manifest,
    }
  } catch (error) {
    return invalidHook(`${folder}: ${messageOf(error)}`)
  }
}

/** The name, else the folder's, else the folder's with a number. */
function uniqueName(name: string, folder: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  for (let number = 1; ; number++) {
    const other = number === 1 ? folder : `${folder}-${number}`
    if (!taken.has(other)) return other
  }
}
