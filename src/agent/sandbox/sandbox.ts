/**
 * The contract of a sandbox: what the commands and the file tools of the agent see of this machine.
 */
import { lstatSync, readdirSync, realpathSync, type Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isWithin } from '../../lib/files.ts'

export type SandboxKind = 'bwrap' | 'seatbelt' | 'landlock' | 'none'

/** `terminal.sandbox`. */
export type SandboxSetting = 'auto' | 'bwrap' | 'seatbelt' | 'landlock' | 'off'

/**
 * Absolute real paths. The longest entry that contains a path decides about it; of equal entries `hidden` wins, then
 * `readOnly`. Everything else is readable and not writable.
 */
export interface SandboxView {
  readonly hidden: readonly string[]
  readonly readOnly: readonly string[]
  readonly writable: readonly string[]
  /**
   * Homes that are not hidden as a whole. What begins with a dot in one is hidden, also if it appears later, unless it is an entry
   * itself.
   */
  readonly openHomes?: readonly string[]
  /** Links in hidden directories that lead to visible entries. Their targets are real paths. */
  readonly links?: readonly SandboxLink[]
  /** The directory of this machine that commands see as `/tmp`. Undefined where the kind of sandbox cannot replace `/tmp`. */
  readonly privateTmp: string | undefined
}

export interface SandboxLink {
  readonly path: string
  readonly target: string
}

export interface WrapOptions {
  /** The working directory, as the command sees it. */
  readonly cwd: string
  /** Files below a hidden directory that this command may read. */
  readonly exposed?: readonly string[]
  /** Offers the proxy of the gateway, where commands may reach listed hosts only. It costs the start of a program. */
  readonly usesProxy?: boolean
}

export interface Sandbox {
  readonly kind: SandboxKind
  /** Why there is no sandbox, with the remedy; '' unless the kind is `none`. */
  readonly reason: string
  readonly view: SandboxView
  /** The command line that runs `argv` inside. Returns `argv` for `none`. */
  wrap(argv: readonly string[], options: WrapOptions): readonly string[]
  /** Variables that commands get in addition. */
  readonly variables: Readonly<Record<string, string>>
  /** First on the PATH of commands, in place of the directory with the complete `hermes`. */
  readonly binDirectory?: string | undefined
  /** The path on this machine of a path that a command sees. */
  toHostPath(path: string): string
  /** What the view allows for a real path, as commands see it. */
  accessOf(path: string): Access
  /** A sentence that says that a real path is hidden, and how the owner can show it; undefined for one that is not. It need not exist. */
  hiddenReason(path: string): string | undefined
}

export type Access = 'hidden' | 'readOnly' | 'writable'

/** What the view allows for a real path. */
export function accessOf(view: SandboxView, path: string): Access {
  let longest = -1
  let access: Access = 'readOnly'
  const dotEntry = findDotEntry(view, path)
  if (dotEntry !== undefined) [longest, access] = [dotEntry.length, 'hidden']
  // In the order of precedence, so that an equal entry does not replace an earlier one.
  for (const kind of ['hidden', 'readOnly', 'writable'] as const) {
    for (const entry of view[kind]) {
      if (entry.length > longest && isWithin(path, entry)) {
        longest = entry.length
        access = kind
      }
    }
  }
  return longest === -1 && isTemporary(path) && view.privateTmp !== undefined ? 'writable' : access
}

/** The entry of an open home through which the path leads, if it begins with a dot and is not listed. */
function findDotEntry(view: SandboxView, path: string): string | undefined {
  for (const home of view.openHomes ?? []) {
    if (path === home || !isWithin(path, home)) continue
    const entry = join(home, path.slice(home.length).split('/').find(Boolean) ?? '')
    if (basename(entry).startsWith('.') && !isEntry(view, entry)) return entry
  }
  return undefined
}

const isEntry = (view: SandboxView, path: string) =>
  [view.hidden, view.readOnly, view.writable].some((entries) => entries.includes(path))

/** The view with what has appeared in open homes since it was computed. */
export function currentView(view: SandboxView): SandboxView {
  const appeared = (view.openHomes ?? []).flatMap((home) =>
    listDirectory(home)
      .filter((name) => name.startsWith('.'))
      .map((name) => join(home, name))
      .filter((path) => !isEntry(view, path)),
  )
  return appeared.length === 0 ? view : { ...view, hidden: [...view.hidden, ...appeared] }
}

/** The path on this machine of a path that a command sees. */
export function toHostPath(view: SandboxView, path: string): string {
  const { privateTmp } = view
  if (privateTmp === undefined || !isTemporary(path) || isListed(view, path)) return path
  return privateTmp + path.replace(/^(?:\/private)?(?:\/var)?\/tmp/, '')
}

/**
 * Returns the reason of `Sandbox.hiddenReason`. What a path leads to decides. A path in the real `/tmp`,
 * which the sandbox replaces, is hidden if it exists there.
 */
export function hiddenReason(view: SandboxView, path: string): string | undefined {
  if (!isHidden(view, path)) return undefined
  return `${path} is hidden by the sandbox. The owner of the gateway can show it with terminal.sandbox_read, or terminal.sandbox_write.`
}

function isHidden(view: SandboxView, path: string): boolean {
  const hostPath = toHostPath(view, path)
  // In a replaced directory, the links of this machine mean nothing.
  if (hostPath !== path)
    return accessOf(view, path) === 'hidden' || (findEntry(hostPath) === undefined && findEntry(path) !== undefined)
  const target = realPath(path)
  // A link may lead into a replaced directory.
  return target === path ? accessOf(view, path) === 'hidden' : isHidden(view, target)
}

const temporaryDirectories = ['/tmp', '/var/tmp']

/** Whether a private `/tmp` replaces the path. */
export function isTemporary(path: string): boolean {
  return temporaryDirectories.some((directory) => isWithin(path, directory))
}

/** Whether an entry contains the path. The private `/tmp` is no entry. */
function isListed(view: SandboxView, path: string): boolean {
  return [view.hidden, view.readOnly, view.writable].some((entries) => entries.some((entry) => isWithin(path, entry)))
}

/**
 * The directories between a writable entry and what is hidden or read-only in it. A command that renames one of them would
 * move the protected part to a path that nothing protects.
 */
export function directoriesAround(view: SandboxView): ReadonlySet<string> {
  const reasons = new Set<string>()
  for (const path of [...view.hidden, ...view.readOnly]) {
    const isInWritable = (target: string) => view.writable.some((entry) => isWithin(target, entry))
    for (let parent = dirname(path); isInWritable(parent) && parent !== dirname(parent); parent = dirname(parent))
      if (!view.writable.includes(parent) && !isAroundTemporary(parent) && accessOf(view, parent) === 'writable')
        reasons.add(parent)
  }
  return reasons
}

const isAroundTemporary = (path: string) =>
  temporaryDirectories.some((temporaryDirectory) => isWithin(temporaryDirectory, path))

/** What the path names, without following a link. Undefined for one that does not exist or cannot be reached. */
export function findEntry(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    // The commands run as the same user and cannot reach it either.
    return undefined
  }
}

/** Resolves links in the part of the path that exists. */
export function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // It does not exist, or may not be read.
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), basename(path))
  }
}

/** The names in a directory; none for one that cannot be read. */
export function listDirectory(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    // Missing or not readable: nothing in it can be read by the agent either.
    return []
  }
}
