/**
 * Finds the hooks that lie in the folders: reads manifests, checks that nobody else could have put them there, runs
 * nothing. Synchronous: a start with ten hooks costs less so than waiting ten times.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import { isHarmless, readManifest, rootOf } from '../lib/safe-files.ts'
import { handlerIn } from './handler-file.ts'
import { type HookManifest, type ManifestRules, parseHookManifest } from './manifest.ts'

export interface HookFolder {
  readonly path: string
  /** `shipped` with the gateway, or the user's own. */
  readonly origin: 'shipped' | 'home'
}

export interface FoundHook {
  /** Unique; what commands, the log and hosts call it. The name of its manifest, unless that is taken. */
  readonly id: string
  readonly origin: HookFolder['origin']
  /** Absolute. */
  readonly folder: string
  readonly manifestFile: string
  readonly handlerFile: string
  readonly language: 'node' | 'python'
  readonly manifest: HookManifest
}

/** A folder that looks like a hook and cannot be used. */
export interface UnusableHook {
  readonly id: string
  readonly folder: string
  /** What is wrong, with file and line where there is one. */
  readonly reason: string
}

export interface Discovery {
  /** In the order in which they hear an event: by priority, then by path. */
  readonly hooks: readonly FoundHook[]
  readonly unusable: readonly UnusableHook[]
  /** What is odd but harms nothing, a sentence each. */
  readonly warnings: readonly string[]
  /** All folders of hooks, also of those that cannot be used. */
  readonly folders: readonly string[]
}

export interface DiscoverHooks extends Pick<ManifestRules, 'doubtAbout'> {
  /** `parseHookManifest`, if left out. */
  readonly read?: typeof parseHookManifest
  /** The shipped ones first. A later folder takes the place of an earlier one of the same name. */
  readonly roots: readonly HookFolder[]
}

/** Never throws. */
export function discoverHooks({ roots, doubtAbout, read = parseHookManifest }: DiscoverHooks): Discovery {
  const unusable: UnusableHook[] = []
  const warnings: string[] = []
  const folders = new Map<string, { readonly root: HookFolder; readonly folder: string }>()
  for (const root of roots) {
    for (const folder of foldersOf(root.path, unusable)) folders.set(basename(folder), { root, folder })
  }
  const hooks: FoundHook[] = []
  const taken = new Set<string>()
  for (const { root, folder } of [...folders.values()].sort(byOrigin)) {
    const rules: ManifestRules = { folder: basename(folder), doubtAbout }
    const found = inspect(root, folder, rules, { read, warnings })
    if (found === undefined) continue
    if ('reason' in found) {
      unusable.push(found)
      continue
    }
    const id = freeName(found.manifest.name, basename(folder), taken)
    if (id !== found.manifest.name)
      warnings.push(`${found.manifestFile}: the name ${found.manifest.name} is taken; this hook is called ${id}`)
    taken.add(id)
    hooks.push({ ...found, id })
  }
  // Stable: those of one priority stay in the order of their paths.
  hooks.sort((one, other) => one.manifest.priority - other.manifest.priority)
  return { hooks, unusable, warnings, folders: [...folders.values()].map(({ folder }) => folder) }
}

type Placed = { readonly root: HookFolder; readonly folder: string }

function byOrigin(one: Placed, other: Placed): number {
  if (one.root.origin !== other.root.origin) return one.root.origin === 'shipped' ? -1 : 1
  return one.folder < other.folder ? -1 : 1
}

/** Linked folders count, if they lead to another place in the same folder of hooks. */
function foldersOf(path: string, unusable: UnusableHook[]): string[] {
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
      unusable.push({ id: basename(path), folder: path, reason: `the folder cannot be read: ${messageOf(error)}` })
    }
    return []
  }
}

type Inspected = Omit<FoundHook, 'id'> | UnusableHook | undefined

/** Undefined where there is no manifest: then it is some other folder. */
function inspect(
  root: HookFolder,
  folder: string,
  rules: ManifestRules,
  { read, warnings }: { readonly read: typeof parseHookManifest; readonly warnings: string[] },
): Inspected {
  const unusable = (reason: string): UnusableHook => ({ id: rules.folder, folder, reason })
  const manifestFile = join(folder, 'HOOK.yaml')
  try {
    const top = rootOf(root.path)
    const text = readManifest(manifestFile, folder, top)
    if (text === undefined) return undefined
    if ('reason' in text) return unusable(text.reason)
    const check = read(text.text, manifestFile, rules)
    if (!check.ok) return unusable(check.problems.join('; '))
    const handler = handlerIn(folder)
    if ('reason' in handler) return unusable(handler.reason)
    const harmless = isHarmless([folder, manifestFile, handler.file], top)
    if (!harmless.ok) return unusable(harmless.reason)
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
    return unusable(`${folder}: ${messageOf(error)}`)
  }
}

/** The name, else the folder's, else the folder's with a number. */
function freeName(name: string, folder: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  for (let number = 1; ; number++) {
    const other = number === 1 ? folder : `${folder}-${number}`
    if (!taken.has(other)) return other
  }
}
