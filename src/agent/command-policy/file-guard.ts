/**
 * Decides which files the file tools may read and write. The decision uses the real path with every symbolic link
 * resolved, also for a file that does not exist yet.
 */
import { lstat, readlink, realpath, stat } from 'node:fs/promises'
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { isWithin, undefinedIfMissing } from '../../lib/files.ts'
import {
  codeDirectories,
  contextFileNames,
  memoryDirectory,
  secretDirectories,
  secretFiles,
  settingsFiles,
  skillDirectory,
} from './protected-paths.ts'

type FileGuardResult =
  /**
   * `path` is the real path on this machine. Use it, because a link may be changed between the check and the use. Check
   * after opening that the file is the one at this path.
   */
  | { readonly ok: true; readonly path: string }
  /** `reason` is a sentence for the model. */
  | { readonly ok: false; readonly code: FileDenialCode; readonly reason: string }

type FileDenialCode =
  | 'secret'
  | 'hidden'
  | 'not_found'
  | 'protected'
  | 'outside_sandbox'
  | 'outside_safe_root'
  | 'is_directory'
  | 'not_regular_file'

/** What the guard asks of a sandbox. */
export interface GuardedView {
  readonly view: { readonly privateTmp: string | undefined }
  /** The path on this machine of a path that commands see. */
  toHostPath(path: string): string
  /** What commands may do with a real path. */
  accessOf(path: string): 'hidden' | 'readOnly' | 'writable'
  /** Why commands do not see a real path; undefined for one that they see. */
  hiddenReason(path: string): string | undefined
}

export interface FileGuard {
  /**
   * `path` is absolute. `isOwner`: whether an owner causes the write; others write no file that becomes a part of prompts. Throws system
   * errors other than a missing file.
   */
  checkWrite(path: string, isOwner?: boolean): Promise<FileGuardResult>
  /**
   * `path` is absolute. `exposed`: real paths of files below a hidden directory, or of results of the conversation, that may be read
   * all the same. Throws system errors other than a missing file.
   */
  checkRead(path: string, exposed?: () => Promise<readonly string[]>): Promise<FileGuardResult>
  /** Returns a fast check for many files below a directory that `checkRead` allowed. It takes their real paths. */
  createReadFilter(exposed?: () => Promise<readonly string[]>): Promise<(realPath: string) => boolean>
}

export interface FileGuardOptions {
  /** The directory of the gateway (`HERMES_HOME`), absolute. */
  readonly home: string
  /** The home directory of the user, absolute. */
  readonly userHome: string
  /** `HERMES_WRITE_SAFE_ROOT`: the only directories in which files are written, separated as in PATH. '' means no limit. */
  readonly writeSafeRoot?: string
  /** What commands see. Undefined, also as its result: no sandbox is configured. */
  sandbox?(): Promise<GuardedView | undefined>
}

const systemDirectories = [
  ...['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/private/etc', '/proc', '/sbin', '/sys', '/System'],
  ...['/usr/bin', '/usr/lib', '/usr/sbin', '/var/spool/cron'],
]
/** Below a system directory, but shared memory: programs keep temporary files there. */
const sharedMemory = '/dev/shm'

function isSystemPath(path: string): boolean {
  return systemDirectories.some((directory) => isWithin(path, directory)) && !isWithin(path, sharedMemory)
}

/** Below the home directory of the user: keys, credentials, and the startup files of shells. */
const privateDirectories = [
  '.ssh',
  '.aws',
  '.azure',
  '.gnupg',
  '.kube',
  '.config/gcloud',
  '.config/gh',
  '.password-store',
]
const privateFiles = [
  ...['.netrc', '.pgpass', '.npmrc', '.pypirc', '.git-credentials', '.docker/config.json'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.profile', '.zshrc', '.zshenv', '.zprofile'],
]
/** `.env`, `.env.local`. Templates such as `.env.example` contain no secrets. */
const envFile = /^\.env(?:\.(?!example$|sample$|template$|dist$).*)?$/i
/** The environment, memory and open files of a process. The environment of the gateway contains its keys. */
const processDirectory = /^\/proc\/(?:self|thread-self|\d+)(?:\/|$)/

/** Returns why this file may not be written, as a clause. */
function writeDenial(path: string, home: string, userHome: string): string | undefined {
  if (isSystemPath(path)) return 'it belongs to the system'
  if (envFile.test(basename(path))) return 'such files contain secrets'
  const name = relativeTo(path, home)
  if (name !== undefined && [...secretFiles, ...settingsFiles].some((file) => file === name)) {
    return 'it belongs to the gateway'
  }
  if (secretDirectories.some((directory) => isWithin(path, join(home, directory)))) return 'it belongs to the gateway'
  if (codeDirectories.some((directory) => isWithin(path, join(home, directory))))
    return 'the gateway runs the code in that directory'
  if (isWithin(path, join(home, memoryDirectory))) return 'the tool memory writes there'
  if (isWithin(path, join(home, skillDirectory))) return 'the tool skill_manage writes there'
  const relative = relativeTo(path, userHome)
  if (relative === undefined) return undefined
  const isPrivate =
    privateFiles.includes(relative) || privateDirectories.some((directory) => isWithin(path, join(userHome, directory)))
  return isPrivate ? 'it contains credentials or settings of the user' : undefined
}

function isSecret(path: string, home: string): boolean {
  const name = relativeTo(path, home)
  // Access to what the agent remembers is decided elsewhere, by the person and the chat.
  if (name !== undefined && isWithin(path, join(home, memoryDirectory))) return true
  if (secretDirectories.some((directory) => isWithin(path, join(home, directory)))) return true
  return processDirectory.test(path) || secretFiles.some((file) => file === name)
}

/** Returns why the file tools may not read or write a file of an environment, as a clause. Takes the real path there. */
export type RemoteFileGuard = (path: string, userHome: string, intent: 'read' | 'write') => string | undefined

/**
 * The rules for the files of another machine that is no container. It may be the machine of the gateway itself, or have a
 * gateway of its own.
 *
 * @param home the directory of the gateway (`HERMES_HOME`), absolute
 */
export function createRemoteFileGuard(home: string): RemoteFileGuard {
  return (path, userHome, intent) => {
    for (const directory of [home, join(userHome, '.hermes')]) {
      if (isSecret(path, directory)) return 'it contains secrets'
      const denial = intent === 'write' ? writeDenial(path, directory, userHome) : undefined
      if (denial !== undefined) return denial
    }
    return undefined
  }
}

export function createFileGuard({ home, userHome, writeSafeRoot = '', sandbox }: FileGuardOptions): FileGuard {
  const safeRoots = writeSafeRoot.split(delimiter).filter((root) => root !== '')

  return {
    async checkWrite(path, isOwner = true) {
      const view = await sandbox?.()
      const real = await resolveRealPath(path, view)
      const [realHome, realUserHome] = await Promise.all([resolveRealPath(home), resolveRealPath(userHome)])
      const denial = writeDenial(real, realHome, realUserHome) ?? writeDenial(resolve(path), home, userHome)
      if (denial !== undefined) return refuse('protected', `Writing ${path} is not allowed: ${denial}.`)
      if (!isOwner && (isContextFile(real) || isContextFile(path)))
        return refuse(
          'protected',
          `Writing ${path} is not allowed: the conversations of others begin with its text, so that only an owner may change it.`,
        )
      if (view !== undefined && view.accessOf(real) !== 'writable') return outsideSandbox(path)
      if (safeRoots.length > 0) {
        const roots = await Promise.all(safeRoots.map((root) => resolveRealPath(root)))
        if (!roots.some((root) => isWithin(real, root))) {
          return refuse(
            'outside_safe_root',
            `Writing ${path} is not allowed: it is outside ${safeRoots.join(', ')} (HERMES_WRITE_SAFE_ROOT).`,
          )
        }
      }
      const hostPath = view?.toHostPath(real) ?? real
      const stats = await stat(hostPath).catch(undefinedIfMissing)
      if (stats !== undefined && !stats.isFile())
        return stats.isDirectory()
          ? refuse('is_directory', `${path} is a directory.`)
          : refuse('not_regular_file', `${path} is not a regular file.`)
      return { ok: true, path: hostPath }
    },
    async checkRead(path, exposed) {
      const view = await sandbox?.()
      const real = await resolveRealPath(path, view)
      if (isSecret(real, await resolveRealPath(home)) || isSecret(resolve(path), home)) {
        return refuse('secret', `Reading ${path} is not allowed: it belongs to the gateway.`)
      }
      const realHome = await resolveRealPath(home)
      const ofAnother = isResult(real, realHome)
      const hidden = view?.hiddenReason(real)
      if ((hidden !== undefined || ofAnother) && !(await exposed?.())?.includes(real)) {
        if (ofAnother || hidden === undefined) return refuse('not_found', `${path} does not exist.`)
        const isOwn = isWithin(real, realHome)
        return refuse('hidden', isOwn ? `${path} belongs to the gateway. The sandbox hides it.` : hidden)
      }
      return { ok: true, path: view?.toHostPath(real) ?? real }
    },
    async createReadFilter(exposed) {
      const [realHome, view] = [await resolveRealPath(home), await sandbox?.()]
      const shown = new Set(await exposed?.())
      const privateTmp = view?.view.privateTmp
      return (realPath) => {
        if (privateTmp !== undefined && isWithin(realPath, privateTmp)) return true
        if (isSecret(realPath, realHome)) return false
        const isHidden = view?.accessOf(realPath) === 'hidden' || isResult(realPath, realHome)
        return !isHidden || shown.has(realPath)
      }
    },
  }
}

/** A long result of a tool: it belongs to one conversation, with and without a sandbox. */
function isResult(path: string, realHome: string): boolean {
  return isWithin(path, join(realHome, 'cache', 'results'))
}

function isContextFile(path: string): boolean {
  const name = basename(path).toLowerCase()
  return contextFileNames.some((contextFileName) => contextFileName.toLowerCase() === name)
}

function outsideSandbox(path: string): FileGuardResult {
  return refuse(
    'outside_sandbox',
    `Writing ${path} is not allowed: only the working directory and /tmp are writable. The owner of the gateway can add paths to terminal.sandbox_write.`,
  )
}

const refuse = (code: FileDenialCode, reason: string): FileGuardResult => ({ ok: false, code, reason })

/** The path relative to the directory; undefined when it is not below it. */
function relativeTo(path: string, directory: string): string | undefined {
  return isWithin(path, directory) ? path.slice(directory.length).replace(/^\/+/, '') : undefined
}

const maxLinks = 40

/**
 * Resolves every symbolic link as a command in the sandbox would. The part that does not exist is kept, also behind a
 * dangling link. Throws for a cycle of links.
 */
async function resolveRealPath(path: string, view?: GuardedView): Promise<string> {
  const absolute = resolve(path)
  const toHostPath = view?.toHostPath ?? ((inside: string) => inside)
  const realTarget = toHostPath(absolute) === absolute ? await realpath(absolute).catch(undefinedIfMissing) : undefined
  // A path that the sandbox replaces may contain links that mean something else on this machine.
  if (realTarget !== undefined && toHostPath(realTarget) === realTarget) return realTarget
  let real = '/'
  let links = 0
  const pending = namesOf(absolute)
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (name === '..') {
      real = dirname(real)
      continue
    }
    const candidate = join(real, name)
    const entry = await lstat(toHostPath(candidate)).catch(undefinedIfMissing)
    if (entry?.isSymbolicLink() !== true) {
      real = candidate
      continue
    }
    links += 1
    if (links > maxLinks) throw new Error(`too many symbolic links: ${path}`)
    const target = await readlink(toHostPath(candidate))
    if (isAbsolute(target)) real = '/'
    pending.unshift(...namesOf(target))
  }
  return real
}

const namesOf = (path: string) => path.split(sep).filter((name) => name !== '' && name !== '.')
