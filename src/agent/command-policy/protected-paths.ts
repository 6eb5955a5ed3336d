/**
 * The paths of the system and of the gateway that the rules protect.
 */
import { dirname } from 'node:path'
import { createHomeLayout } from '../../lib/home.ts'
import { locateProfile } from '../../lib/profiles.ts'
import type { Field } from './field.ts'
import {
  componentMatches,
  isAtOrBelow,
  knownPrefix,
  matchesAll,
  matchesPath,
  type PathPattern,
  pathComponents,
  toPathPattern,
} from './path-pattern.ts'

/** Directories whose loss makes the machine unusable. */
const systemDirectories = [
  ...['bin', 'boot', 'dev', 'etc', 'home', 'lib', 'lib32', 'lib64', 'libx32', 'opt', 'proc', 'root', 'run', 'sbin'],
  ...['srv', 'sys', 'usr', 'var', 'usr/bin', 'usr/lib', 'usr/lib64', 'usr/local', 'usr/sbin', 'usr/share', 'var/lib'],
  ...['System', 'Library', 'Applications', 'Users'],
].map(pathComponents)

/** Directories in which every single file belongs to the system. */
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

/** Files in `HERMES_HOME` that contain secrets. */
export const secretFiles = [
  '.env',
  'gateway.token',
  'auth.json',
  'webhook_subscriptions.json',
  'state.db',
  'state.db-wal',
  'state.db-shm',
  'state.db.bak',
  'state.db.bak.tmp',
  'cache/config.last-good.yaml',
] as const
/** Directories in `HERMES_HOME` with nothing but secrets, and with files of all folders in which the agent works. */
export const secretDirectories = ['mcp-tokens', 'checkpoints'] as const
/** Files in `HERMES_HOME` that configure the gateway. */
export const settingsFiles = ['config.yaml', 'gateway.pid', 'shell-hooks-allowlist.json'] as const
/** Directories in `HERMES_HOME` with code that the gateway runs with its own rights and secrets, or with the people it trusts. */
export const codeDirectories = ['hooks', 'platforms', 'plugins', 'cache', 'pairing'] as const

/** Files of a project that become a part of the prompts of everybody (contract §4.11), the most specific first. */
export const contextFileNames = ['.hermes.md', 'AGENTS.md', 'CLAUDE.md', '.cursorrules'] as const

/** Directories in `HERMES_HOME` that the agent writes with tools of their own, which check who may and what. */
export const [memoryDirectory, skillDirectory] = ['memories', 'skills']

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
  /** The directory of the gateway (`HERMES_HOME`). */
  readonly home: string
  readonly userHome: string
  /** Undefined when the beginning of the path is not known. */
  toPattern(field: Field, cwd: string | undefined): PathPattern | undefined
  /** Removing this recursively destroys the machine or all files of its user. */
  isCritical(path: PathPattern): boolean
  /** Directly below the root, or a system file. */
  isSystem(path: PathPattern): boolean
  /** Changing this changes who has access, or what the gateway does. */
  isProtected(path: PathPattern): boolean
  /** Reading this discloses a secret of the gateway. */
  isSecret(path: PathPattern): boolean
  /** The directory that contains the secrets. Copying or searching it discloses them too. */
  containsSecrets(path: PathPattern): boolean
}

export function createProtectedPaths(home: string, userHome: string): ProtectedPaths {
  const homePath = pathComponents(home)
  const critical = [[], ...systemDirectories, pathComponents(userHome), pathComponents(dirname(userHome))]
  const secrets = secretFiles.map((file) => [...homePath, ...file.split('/')])
  const code = codeDirectories.map((folder) => [...homePath, folder])
  const secretTrees = secretDirectories.map((folder) => [...homePath, folder])
  const { rootHome } = locateProfile(home)
  // The homes of other profiles: around the home of a profile, and below the root home.
  const otherHomes = pathComponents(rootHome === home ? createHomeLayout(home).profiles : rootHome)
  const isOfOtherProfile = (path: PathPattern) =>
    isAtOrBelow(path, otherHomes) && !(rootHome !== home && isAtOrBelow(path, homePath))
  const protectedTrees = [['etc'], [...pathComponents(userHome), '.ssh'], ['root', '.ssh'], ...code, ...secretTrees]
  const protectedFiles = [...secrets, ...settingsFiles.map((file) => [...homePath, file])]
  return {
    home,
    userHome,
    toPattern: toPathPattern,
    isCritical: (path) =>
      critical.some((protectedPath) => matchesPath(path, protectedPath)) ||
      (matchesAll(path) && critical.some((protectedPath) => matchesPath(path.slice(0, -1), protectedPath))),
    isSystem: (path) => path.length <= 1 || systemTrees.some((protectedPath) => isAtOrBelow(path, protectedPath)),
    isProtected: (path) =>
      protectedTrees.some((protectedPath) => isAtOrBelow(path, protectedPath)) ||
      protectedFiles.some((protectedPath) => matchesPath(path, protectedPath)) ||
      isOfOtherProfile(path),
    isSecret: (path) =>
      secrets.some((protectedPath) => matchesPath(path, protectedPath)) ||
      secretTrees.some((tree) => isAtOrBelow(path, tree)) ||
      isProcessSecret(path) ||
      isOfOtherProfile(path),
    containsSecrets: (path) => matchesPath(path, homePath),
  }
}

/** The environment and the memory of a process. The environment of the gateway contains its keys. */
function isProcessSecret(path: PathPattern): boolean {
  if (!isAtOrBelow(path, ['proc'])) return false
  const [, process, folder] = path
  // The open files of another process count too; those of the command itself are its own redirections.
  if (componentMatches(folder, 'fd') && path.length > 3) return !componentMatches(process, 'self')
  return ['environ', 'mem'].some((name) => componentMatches(path.at(-1), name))
}

/** A disk, a partition or memory. */
export function isBlockDevice(path: PathPattern): boolean {
  if (!isAtOrBelow(path, ['dev'])) return false
  return (
    blockDevice.test(knownPrefix(path).slice('/dev/'.length).split('/')[0] ?? '') ||
    deviceSamples.some((name) => matchesPath(path, ['dev', name]))
  )
}

/** Everything below `/dev` except harmless devices such as `/dev/null`. */
export function isDevice(path: PathPattern): boolean {
  if (!isAtOrBelow(path, ['dev']) || path.length < 2) return false
  return !harmlessDevice.test(knownPrefix(path.slice(1, 2)).slice(1))
}
