/**
 * The places of a machine and of the gateway that commands are judged by, and the questions asked about a path.
 */
import { dirname } from 'node:path'
import type { Field } from './field.ts'
import {
  componentMatches,
  isWithin,
  knownPrefix,
  matchesAll,
  matchesPath,
  type PathPattern,
  pathComponents,
  toPathPattern,
} from './path-pattern.ts'

/** Folders without which a machine is lost. */
const systemDirectories = [
  ...['bin', 'boot', 'dev', 'etc', 'home', 'lib', 'lib32', 'lib64', 'libx32', 'opt', 'proc', 'root', 'run', 'sbin'],
  ...['srv', 'sys', 'usr', 'var', 'usr/bin', 'usr/lib', 'usr/lib64', 'usr/local', 'usr/sbin', 'usr/share', 'var/lib'],
  ...['System', 'Library', 'Applications', 'Users'],
].map(pathComponents)

/** Where single files belong to the system too. */
const systemTrees = [
  'bin',
  'boot',
  'dev',
  'etc',
  'lib',
  'lib32',
  'lib64',
  'proc',
  'sbin',
  'sys',
  'usr/bin',
  'usr/lib',
  'usr/sbin',
].map(pathComponents)

/** Files of the home that hold secrets. */
export const secretFiles = [
  '.env',
  'gateway.token',
  'auth.json',
  'state.db',
  'state.db-wal',
  'state.db-shm',
  'cache/config.last-good.yaml',
] as const
/** Files of the home that decide how the gateway works. */
export const settingsFiles = ['config.yaml', 'gateway.pid', 'shell-hooks-allowlist.json'] as const
/** Folders of the home with code that the gateway runs by itself, with its own rights and secrets. */
export const codeDirectories = ['hooks', 'platforms', 'plugins', 'cache'] as const

const blockDevice =
  /^(?:[shv]d[a-z]|xvd|nvme|mmcblk|r?disk\d|dm-|md\d|mapper$|disk$|loop\d|sr\d|nbd|zram|ram\d|mem$|kmem$|port$)/
const deviceSamples = [
  'sda',
  'sda1',
  'sdb',
  'sdb1',
  'vda',
  'vda1',
  'hda',
  'xvda',
  'nvme0n1',
  'nvme0n1p1',
  'mmcblk0',
  'disk0',
]
const harmlessDevice = /^(?:null|zero|full|stdout|stderr|stdin|tty|fd|shm|pts|random|urandom)$/

export interface ProtectedPaths {
  /** The folder of the gateway (`HERMES_HOME`). */
  readonly home: string
  readonly userHome: string
  /** Undefined when it is not known where the path begins. */
  toPattern(field: Field, cwd: string | undefined): PathPattern | undefined
  /** Removing this, with all it holds, loses the machine or everything its user has. */
  isCritical(path: PathPattern): boolean
  /** Directly below the root, or a file of the system. */
  isSystem(path: PathPattern): boolean
  /** Changing this changes who may enter, or what the gateway does. */
  isProtected(path: PathPattern): boolean
  /** Reading this tells a secret of the gateway. */
  isSecret(path: PathPattern): boolean
  /** The folder the secrets lie in: copying or searching it whole tells them too. */
  containsSecrets(path: PathPattern): boolean
}

export function createProtectedPaths(home: string, userHome: string): ProtectedPaths {
  const homePath = pathComponents(home)
  const critical = [[], ...systemDirectories, pathComponents(userHome), pathComponents(dirname(userHome))]
  const secrets = secretFiles.map((file) => [...homePath, ...file.split('/')])
  const code = codeDirectories.map((folder) => [...homePath, folder])
  const protectedTrees = [['etc'], [...pathComponents(userHome), '.ssh'], ['root', '.ssh'], ...code]
  const protectedFiles = [...secrets, ...settingsFiles.map((file) => [...homePath, file])]
  return {
    home,
    userHome,
    toPattern: toPathPattern,
    isCritical: (path) =>
      critical.some((place) => matchesPath(path, place)) ||
      (matchesAll(path) && critical.some((place) => matchesPath(path.slice(0, -1), place))),
    isSystem: (path) => path.length <= 1 || systemTrees.some((place) => isWithin(path, place)),
    isProtected: (path) =>
      protectedTrees.some((place) => isWithin(path, place)) || protectedFiles.some((place) => matchesPath(path, place)),
    isSecret: (path) => secrets.some((place) => matchesPath(path, place)) || isProcessSecret(path),
    containsSecrets: (path) => matchesPath(path, homePath),
  }
}

/** Another process's environment and memory: the gateway's own holds its keys. */
function isProcessSecret(path: PathPattern): boolean {
  if (!isWithin(path, ['proc'])) return false
  const [, process, folder] = path
  // Its open files, too; a command's own are what it was given.
  if (componentMatches(folder, 'fd') && path.length > 3) return !componentMatches(process, 'self')
  return ['environ', 'mem'].some((name) => componentMatches(path.at(-1), name))
}

/** A disk, a partition or the memory itself. */
export function isBlockDevice(path: PathPattern): boolean {
  if (!isWithin(path, ['dev'])) return false
  return (
    blockDevice.test(knownPrefix(path).slice('/dev/'.length).split('/')[0] ?? '') ||
    deviceSamples.some((name) => matchesPath(path, ['dev', name]))
  )
}

/** Anything below `/dev` but the well-known harmless ones. */
export function isDevice(path: PathPattern): boolean {
  if (!isWithin(path, ['dev']) || path.length < 2) return false
  return !harmlessDevice.test(knownPrefix(path.slice(1, 2)).slice(1))
}
