/**
 * The command line of bubblewrap (`bwrap`) for a view: own process, mount and IPC namespaces on Linux.
 */
import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import { isWithin } from '../../lib/files.ts'
import {
  accessOf,
  directoriesAround,
  findEntry,
  isTemporary,
  realPath,
  type SandboxView,
  type WrapOptions,
} from './sandbox.ts'

export interface BubblewrapOptions {
  readonly program: string
  /** Whether commands share the network of this machine. */
  readonly sharesNetwork: boolean
  readonly isRoot: boolean
}

/** Without these, root could not use files of other users in the working directory. */
const rootCapabilities = ['CAP_DAC_OVERRIDE', 'CAP_CHOWN', 'CAP_FOWNER']

/** The command line that runs `argv` inside. Looks up which paths exist now. */
export function bubblewrapCommand(
  view: SandboxView,
  options: BubblewrapOptions,
  argv: readonly string[],
  { cwd, exposed = [] }: WrapOptions,
): readonly string[] {
  const { program, isRoot, sharesNetwork } = options
  return [
    ...[program, '--unshare-pid', '--unshare-ipc', '--unshare-cgroup-try'],
    ...(sharesNetwork ? [] : ['--unshare-net']),
    // Root would keep all capabilities, with which it could undo every mount.
    ...(isRoot ? ['--cap-drop', 'ALL', ...rootCapabilities.flatMap((name) => ['--cap-add', name])] : []),
    ...[view.writable.includes('/') ? '--bind' : '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    // Owned by root and writable for root without any capability.
    ...['--ro-bind', '/proc/sys', '/proc/sys', '--ro-bind-try', '/proc/sysrq-trigger', '/proc/sysrq-trigger'],
    // The view has what remains of it.
    ...['--tmpfs', '/run'],
    ...(view.privateTmp === undefined
      ? []
      : ['--bind', view.privateTmp, '/tmp', '--bind', view.privateTmp, '/var/tmp']),
    ...mountArguments(view, exposed),
    ...['--chdir', visiblePath(view, cwd), '--', ...argv],
  ]
}

/** A link in a hidden directory is not there, unless the view has it. */
function visiblePath(view: SandboxView, path: string): string {
  const isLinked = view.links?.some((link) => isWithin(path, link.path)) === true
  return accessOf(view, path) === 'hidden' && !isLinked ? realPath(path) : path
}

type Mount = { readonly path: string; readonly kind: 'hidden' | 'readOnly' | 'writable' | 'exposed' }

/** Shorter paths first, so that the mount of a longer path covers a part of the shorter one. */
function mountArguments(view: SandboxView, exposed: readonly string[]): readonly string[] {
  const mounts = new Map<string, Mount>()
  // The last one wins; `accessOf` has the same precedence.
  for (const kind of ['writable', 'readOnly', 'hidden'] as const) {
    for (const path of view[kind]) mounts.set(path, { path, kind })
  }
  for (const path of exposed) mounts.set(path, { path, kind: 'exposed' })
  // A mount point cannot be renamed. Where the sandbox has a directory of its own, it would put that of the machine back.
  const isOwn = (path: string) => isReplacedBySandbox(path, view) && !isInListed(view, path)
  for (const path of directoriesAround(view))
    if (!mounts.has(path) && !isOwn(path)) mounts.set(path, { path, kind: 'writable' })
  // It is mounted first. Here it would put the processes and devices of the machine back.
  mounts.delete('/')
  const sorted = [...mounts.values()]
    .filter(({ path }) => !isWithin(path, '/proc'))
    .sort((a, b) => a.path.length - b.path.length)
  const placed: Mount[] = view.writable.includes('/') ? [{ path: '/', kind: 'writable' }] : []
  const hiddenDirectories: string[] = []
  const args = sorted.flatMap((mount) => {
    const around = placed.findLast(({ path }) => isWithin(mount.path, path))
    const added = mountOf(mount, around, view)
    if (added.length > 0) placed.push(mount)
    if (added.includes('--tmpfs')) hiddenDirectories.push(mount.path)
    return added
  })
  // Only now, because other mounts may lie inside.
  const links = (view.links ?? []).flatMap(({ path, target }) => ['--symlink', target, path])
  return [...args, ...links, ...hiddenDirectories.flatMap((path) => ['--remount-ro', path])]
}

function mountOf({ path, kind }: Mount, around: Mount | undefined, view: SandboxView): readonly string[] {
  const isReplaced = (around === undefined || around.path === '/') && isReplacedBySandbox(path, view)
  // A part of a hidden directory is hidden already, and so is a part of the real /tmp. Everything else is read-only already.
  if (kind === 'hidden' && (around?.kind === 'hidden' || isReplaced)) return []
  if (kind === 'readOnly' && (around === undefined ? !isReplaced : around.kind === 'readOnly')) return []
  const entry = findEntry(path)
  // A directory for programs that does not exist yet: nothing may be placed there.
  if (entry === undefined && kind === 'readOnly' && around?.kind === 'writable')
    return canCreate(path) ? emptyDirectory(path) : []
  // A mount cannot be placed on a link; the view also contains the path to which it leads.
  if (entry === undefined || entry.isSymbolicLink()) return []
  switch (kind) {
    case 'writable':
      return ['--bind', path, path]
    case 'exposed':
    case 'readOnly':
      return ['--ro-bind', path, path]
    case 'hidden':
      return entry.isDirectory() ? emptyDirectory(path) : ['--ro-bind', '/dev/null', path]
  }
}

/** Whether the sandbox has a directory of its own there, in which the path does not exist unless it is mounted. */
function isReplacedBySandbox(path: string, { privateTmp }: SandboxView): boolean {
  return (privateTmp !== undefined && isTemporary(path)) || isWithin(path, '/dev') || isWithin(path, '/run')
}

/** Whether a writable entry contains the path, other than the whole disk, which is mounted before those directories. */
function isInListed({ writable }: SandboxView, path: string): boolean {
  return writable.some((entry) => entry !== '/' && isWithin(path, entry))
}

/** Whether the user of the gateway, and so a command, could create it. */
function canCreate(path: string): boolean {
  const parent = dirname(path)
  if (findEntry(parent) === undefined) return parent !== path && canCreate(parent)
  try {
    accessSync(parent, constants.W_OK)
    return true
  } catch {
    return false
  }
}

const emptyDirectory = (path: string) => ['--perms', '0555', '--tmpfs', path]
