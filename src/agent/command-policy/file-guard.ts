/**
 * Which files the file tools may read and write. Decided on the real path, with every symbolic link followed, also for
 * a file that does not exist yet.
 */
import { lstat, readlink, realpath, stat } from 'node:fs/promises'
import { basename, delimiter, dirname, join, resolve, sep } from 'node:path'
import { systemCode } from '../../lib/errors.ts'
import { codeDirectories, secretFiles, settingsFiles } from './protected-paths.ts'

type FileGuardResult =
  /** `path` is the real one: work with it, so that a link changed meanwhile leads nowhere else. */
  | { readonly ok: true; readonly path: string }
  /** `reason` is a sentence for the model. */
  | { readonly ok: false; readonly reason: string }

export interface FileGuard {
  /** `path` is absolute. Throws system errors other than a missing file. */
  checkWrite(path: string): Promise<FileGuardResult>
  /** `path` is absolute. Throws system errors other than a missing file. */
  checkRead(path: string): Promise<FileGuardResult>
  /** A quick test for many files found below a folder that `forRead` allowed, by their real path. */
  createReadFilter(): Promise<(realPath: string) => boolean>
}

export interface FileGuardOptions {
  /** The folder of the gateway (`HERMES_HOME`), absolute. */
  readonly home: string
  /** The home directory of the user, absolute. */
  readonly userHome: string
  /** `HERMES_WRITE_SAFE_ROOT`: nothing outside is written; several folders are joined as in PATH. '' means everywhere. */
  readonly writeSafeRoot?: string
}

const systemDirectories = [
  ...['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/private/etc', '/proc', '/sbin', '/sys', '/System'],
  ...['/usr/bin', '/usr/lib', '/usr/sbin', '/var/spool/cron'],
]
/** Below the user's home: keys, credentials, and what every new shell runs. */
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
/** `.env`, `.env.local`; the ones made to be copied are no secrets. */
const envFile = /^\.env(?:\.(?!example$|sample$|template$|dist$).*)?$/i
/** Another process's environment, memory and open files: the gateway's own hold its keys. */
const processDirectory = /^\/proc\/(?:self|thread-self|\d+)(?:\/|$)/

export function createFileGuard({ home, userHome, writeSafeRoot = '' }: FileGuardOptions): FileGuard {
  const safeRoots = writeSafeRoot.split(delimiter).filter((root) => root !== '')

  const writeProblem = (path: string, gatewayHome: string, personHome: string): string | undefined => {
    if (systemDirectories.some((folder) => isWithin(path, folder))) return 'it belongs to the system'
    if (envFile.test(basename(path))) return 'such files hold secrets'
    const name = relativeTo(path, gatewayHome)
    if (name !== undefined && [...secretFiles, ...settingsFiles].some((file) => file === name)) {
      return 'it belongs to the gateway'
    }
    if (codeDirectories.some((folder) => isWithin(path, join(gatewayHome, folder))))
      return 'the gateway runs what lies there'
    const personal = relativeTo(path, personHome)
    if (personal === undefined) return undefined
    const isPrivate =
      privateFiles.includes(personal) || privateDirectories.some((folder) => isWithin(path, join(personHome, folder)))
    return isPrivate ? 'it holds credentials or settings of the user' : undefined
  }

  const isSecret = (path: string, gatewayHome: string) => {
    const name = relativeTo(path, gatewayHome)
    return processDirectory.test(path) || secretFiles.some((file) => file === name)
  }

  return {
    async checkWrite(path) {
      const real = await resolveRealPath(path)
      const [gatewayHome, personHome] = await Promise.all([resolveRealPath(home), resolveRealPath(userHome)])
      const problem = writeProblem(real, gatewayHome, personHome) ?? writeProblem(resolve(path), home, userHome)
      if (problem !== undefined) return refuse(`Writing ${path} is not allowed: ${problem}.`)
      if (safeRoots.length > 0) {
        const roots = await Promise.all(safeRoots.map(resolveRealPath))
        if (!roots.some((root) => isWithin(real, root))) {
          return refuse(
            `Writing ${path} is not allowed: it is outside of ${safeRoots.join(', ')} (HERMES_WRITE_SAFE_ROOT).`,
          )
        }
      }
      const found = await stat(real).catch(undefinedIfMissing)
      if (found !== undefined && !found.isFile())
        return refuse(`${path} is ${found.isDirectory() ? 'a folder' : 'not a regular file'}.`)
      return { ok: true, path: real }
    },
    async checkRead(path) {
      const real = await resolveRealPath(path)
      if (isSecret(real, await resolveRealPath(home)) || isSecret(resolve(path), home)) {
        return refuse(`Reading ${path} is not allowed: it holds secrets of the gateway.`)
      }
      return { ok: true, path: real }
    },
    async createReadFilter() {
      const gatewayHome = await resolveRealPath(home)
      return (realPath) => !isSecret(realPath, gatewayHome)
    },
  }
}

const refuse = (reason: string): FileGuardResult => ({ ok: false, reason })

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

/** The path as seen from the folder; undefined when it lies elsewhere. */
function relativeTo(path: string, folder: string): string | undefined {
  return isWithin(path, folder) ? path.slice(folder.length).replace(/^\/+/, '') : undefined
}

function undefinedIfMissing(error: unknown): undefined {
  const code = systemCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  throw error
}

/**
 * The path with every link followed. Where it ends in something that does not exist, as much as exists is followed,
 * a dangling link included. Throws ELOOP for links in a circle.
 */
async function resolveRealPath(path: string, links = 0): Promise<string> {
  const whole = resolve(path)
  const real = await realpath(whole).catch(undefinedIfMissing)
  if (real !== undefined) return real
  const parent = dirname(whole)
  if (parent === whole) return whole
  const here = join(await resolveRealPath(parent, links), basename(whole))
  const entry = await lstat(here).catch(undefinedIfMissing)
  if (entry?.isSymbolicLink() !== true) return here
  if (links >= 40) throw new Error(`too many symbolic links: ${path}`)
  return resolveRealPath(resolve(dirname(here), await readlink(here)), links + 1)
}
