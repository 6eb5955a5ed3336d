/**
 * Discovers hooks in directories: reads their manifests and checks that no other user can write their files. Runs no code.
 * Synchronous, because at start this is faster than asynchronous calls for each file.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import {
  checkFileSafety,
  checkImportableFiles,
  extensionFolders,
  readManifest,
  resolveRoot,
} from '../lib/safe-files.ts'
import { findHandlerFile } from './handler-file.ts'
import { type HookManifest, type ManifestOptions, parseHookManifest } from './manifest.ts'

export interface HookRoot {
  readonly path: string
  /** `shipped` with the gateway, or in the `home` of the user. */
  readonly origin: 'shipped' | 'home'
}

export interface DiscoveredHook {
  /** Unique name in commands, logs and hosts: the name in the manifest, or one derived from the directory if taken. */
  readonly id: string
  readonly origin: HookRoot['origin']
  /** Absolute path. */
  readonly folder: string
  readonly manifestFile: string
  readonly handlerFile: string
  readonly language: 'node' | 'python'
  readonly manifest: HookManifest
}

/** A directory with an invalid hook. */
export interface InvalidHook {
  readonly id: string
  readonly folder: string
  /** The issue, with file and line if known. */
  readonly reason: string
}

export interface DiscoveryResult {
  /** In the order in which they receive an event: by priority, then by path. */
  readonly hooks: readonly DiscoveredHook[]
  readonly invalid: readonly InvalidHook[]
  /** Issues that do not invalidate a hook, one sentence each. */
  readonly warnings: readonly string[]
  /** All hook directories, including invalid ones. */
  readonly folders: readonly string[]
}

export interface DiscoverHooksOptions extends Pick<ManifestOptions, 'eventIssue'> {
  /** `parseHookManifest` if omitted. */
  readonly parseManifest?: typeof parseHookManifest
  /** Shipped hooks first. A directory replaces an earlier one of the same name. */
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
    const inspected = inspectFolder(root, folder, options, { parse: parseManifest, warnings })
    if (inspected === undefined) continue
    if ('reason' in inspected) {
      invalid.push(inspected)
      continue
    }
    const id = uniqueName(inspected.manifest.name, basename(folder), taken)
    if (id !== inspected.manifest.name)
      warnings.push(
        `${inspected.manifestFile}: another hook has the name ${inspected.manifest.name}; this hook is named ${id}`,
      )
    taken.add(id)
    hooks.push({ ...inspected, id })
  }
  // The sort is stable, so hooks of the same priority stay in the order of their paths.
  hooks.sort((a, b) => a.manifest.priority - b.manifest.priority)
  return { hooks, invalid, warnings, folders: [...folders.values()].map(({ folder }) => folder) }
}

type FolderEntry = { readonly root: HookRoot; readonly folder: string }

function compareFolders(a: FolderEntry, b: FolderEntry): number {
  if (a.root.origin !== b.root.origin) return a.root.origin === 'shipped' ? -1 : 1
  return a.folder < b.folder ? -1 : 1
}

/** `checkFileSafety` rejects links that lead out of the root. */
function listHookFolders(path: string, invalid: InvalidHook[]): string[] {
  try {
    return extensionFolders(readdirSync(path, { withFileTypes: true })).map((name) => join(path, name))
  } catch (error) {
    const code = systemCode(error)
    if (code !== 'ENOENT') {
      invalid.push({ id: basename(path), folder: path, reason: `the directory cannot be read: ${messageOf(error)}` })
    }
    return []
  }
}

type InspectionResult = Omit<DiscoveredHook, 'id'> | InvalidHook | undefined

/** `undefined` if the directory has no manifest and therefore is no hook. */
function inspectFolder(
  root: HookRoot,
  folder: string,
  options: ManifestOptions,
  { parse, warnings }: { readonly parse: typeof parseHookManifest; readonly warnings: string[] },
): InspectionResult {
  const invalidHook = (reason: string): InvalidHook => ({ id: options.folder, folder, reason })
  const manifestFile = join(folder, 'HOOK.yaml')
  try {
    const top = resolveRoot(root.path)
    const text = readManifest(manifestFile, folder, top)
    if (text === undefined) return undefined
    if ('reason' in text) return invalidHook(text.reason)
    const check = parse(text.text, manifestFile, options)
    if (!check.ok) return invalidHook(check.issues.join('; '))
    const handler = findHandlerFile(folder)
    if ('reason' in handler) return invalidHook(handler.reason)
    const safety = checkFileSafety([folder, manifestFile, handler.file], top)
    if (!safety.ok) return invalidHook(safety.reason)
    const importable = checkImportableFiles(folder)
    if (!importable.ok) return invalidHook(importable.reason)
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

/** The name in the manifest, the name of the directory, or the latter with a number. */
function uniqueName(name: string, folder: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  for (let number = 1; ; number++) {
    const other = number === 1 ? folder : `${folder}-${number}`
    if (!taken.has(other)) return other
  }
}
