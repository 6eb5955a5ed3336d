/**
 * Computes what the agent sees of this machine. Commands and file tools use the same view. Homes are empty but for what is named:
 * a list of what to hide would never be complete.
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isWithin } from '../../lib/files.ts'
import { locateProfile } from '../../lib/profiles.ts'
import { isSystemDirectory, privatePaths, resolverPaths, startupDirectories, systemSecrets } from './hidden-paths.ts'
import {
  accessOf,
  findEntry,
  isTemporary,
  listDirectory,
  realPath,
  type SandboxLink,
  type SandboxView,
} from './sandbox.ts'
import { toolchainPaths } from './toolchains.ts'

export interface ViewOptions {
  /** `HERMES_HOME`, absolute. */
  readonly home: string
  /** The home directory of the user, absolute. */
  readonly userHome: string
  /** The working directory, absolute. It is writable, unless it is a directory of the system or contains one. */
  readonly cwd: string
  /** `terminal.sandbox_read`; `~` is the home directory of the user. */
  readonly read: readonly string[]
  /** Folders of skills, absolute: readable, and never writable. What is hidden itself, or in them, stays hidden. */
  readonly skills?: readonly string[]
  /** `terminal.sandbox_write`. */
  readonly write: readonly string[]
  /** The PATH of the gateway: its directories are not writable. */
  readonly searchPath: string
  readonly privateTmp: string | undefined
  /** A directory below the home of the gateway that stays readable. */
  readonly binDirectory?: string
  /** The directory of the program, absolute. Default: of this one. */
  readonly program?: string
  /** The list of the users of this machine. Default: `/etc/passwd`. */
  readonly users?: string
}

/** The directory of the program itself. */
const programDirectory = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

/** The program, the packages that Node finds for it in the directories above, and Node. Nothing of it may be written. */
function codeOf(program: string, execPath: string): readonly string[] {
  const [outermost = ''] = /^.*?\/node_modules(?=\/)/.exec(program) ?? []
  const folders = [outermost || program, dirname(execPath)]
  for (let parent = dirname(outermost || program); parent !== dirname(parent); parent = dirname(parent))
    folders.push(join(parent, 'node_modules'))
  return folders
}

/** Directories of the home that the gateway itself uses. */
const ownDirectories = [
  ...[
    'hooks',
    'plugins',
    'plugin-state',
    'platforms',
    'pairing',
    'profiles',
    'memories',
    'cron',
    'logs',
    'cache',
    'media',
    'mcp-tokens',
  ],
]

export function computeSandboxView(options: ViewOptions): SandboxView {
  const { home, userHome, privateTmp } = options
  const expand = (path: string) => resolve(userHome, path.replace(/^~(?=$|\/)\/?/, ''))
  const isAllowed = (path: string) => !isOwnedByGateway(realPath(path), home)
  const read = options.read.map(expand).filter(isAllowed).map(realPath)
  const write = options.write.map(expand).filter(isAllowed).map(realPath)
  // A plugin is hidden, except for its skills.
  const skills = (options.skills ?? [])
    .map(realPath)
    .filter((path) => exists(path) && (isAllowed(path) || exists(join(path, 'SKILL.md'))))
  // A directory of the system is opened by listing it in `write`.
  const work = [options.cwd].filter(isAllowed).map(realPath)
  const roots = [...work.filter((path) => !isSystemDirectory(path)), ...write]
  const homes = findHomes(userHome, homesOfPeople(options.users ?? '/etc/passwd'), [...roots, ...read])
  const isAroundHome = (path: string) => homes.closed.some((closed) => isWithin(closed, path))
  const toolchains = toolchainPaths
    .map((name) => realPath(join(userHome, name)))
    .filter((path) => isDirectory(path) && isAllowed(path) && !isAroundHome(path))
    // What a setting makes writable stays so.
    .filter((path) => !write.some((root) => isWithin(path, root)))
  const listed = new Set([...read, ...write, ...toolchains])
  // The other profiles are below the root home.
  const gatewayHomes = [home, locateProfile(home).rootHome, join(userHome, '.hermes')]
  const hidden = [
    ...gatewayHomes.flatMap(withRealPath),
    ...homes.closed,
    ...homes.open.flatMap(dotEntriesOf),
    ...[...homes.closed, ...homes.open].flatMap((directory) =>
      privatePaths.flatMap((name) => withRealPath(join(directory, name))),
    ),
    ...systemSecrets,
    // Bubblewrap has shared memory of its own.
    ...(privateTmp === undefined ? [] : ['/dev/shm']),
  ].filter((path) => !listed.has(path))
  const workHomes = homes.open.filter((path) => roots.some((root) => isWithin(path, root)))
  const writable = [
    ...roots,
    ...workHomes.flatMap(writableEntriesOf),
    ...(privateTmp === undefined ? temporaryDirectories() : []),
  ]
  const programs = options.searchPath.split(delimiter).filter((path) => isAbsolute(path) && !roots.includes(path))
  const code = codeOf(options.program ?? programDirectory, process.execPath)
  const isInWritable = (path: string) => writable.some((root) => isWithin(path, root))
  // In a hidden home, commands need Node and the programs of the PATH, and not the directory of this program.
  const shown = [...programs, dirname(process.execPath)].filter((path) =>
    homes.closed.some((root) => isWithin(path, root)),
  )
  const readOnly = [...[...workHomes, ...programs, ...code].filter(isInWritable), ...shown]
    // An entry below the home of the gateway would show what is hidden, and so would one that is a home or contains one.
    .filter((path) => !gatewayHomes.some((root) => isWithin(path, root)) && !isAroundHome(path))
    .concat(
      options.binDirectory ?? [],
      [...resolverPaths, realPath('/etc/resolv.conf')].filter((path) => isWithin(path, '/run') && exists(path)),
      // The agent works where it works, also when skills are there.
      [...toolchains, ...skills].filter((path) => !writable.includes(path)),
      // What is missing would become an empty directory.
      read.filter((path) => exists(path) || !writable.some((root) => isWithin(path, root))),
      privateTmp === undefined ? [] : [programDirectory].filter(isTemporary),
    )
  const view = {
    hidden: unique(hidden),
    readOnly: unique(readOnly),
    writable: unique(writable),
    openHomes: homes.open,
    privateTmp,
  }
  const named = [...options.read, ...options.write, ...toolchainPaths].map(expand)
  return { ...view, links: findLinks(view, [options.cwd, ...named, ...programs]) }
}

/** Returns the links for those of the paths that contain a link in a hidden directory and lead to something visible. */
function findLinks(view: SandboxView, paths: readonly string[]): readonly SandboxLink[] {
  const links: SandboxLink[] = []
  for (const path of unique(paths).sort((a, b) => a.length - b.length)) {
    const target = realPath(path)
    const link = firstLinkOf(path)
    if (link === undefined || !exists(target) || links.some((other) => isWithin(path, other.path))) continue
    // A private `/tmp` lasts, and so would a link that is not in a mount of its own.
    const isMounted = [...view.readOnly, ...view.writable].some((entry) => isWithin(path, entry))
    if (view.privateTmp !== undefined && isTemporary(path) && !isMounted) continue
    if (accessOf(view, link) === 'hidden' && accessOf(view, target) !== 'hidden') links.push({ path, target })
  }
  return links
}

/** The first link on the way to the path. */
function firstLinkOf(path: string): string | undefined {
  const parent = dirname(path)
  const earlier = parent === path ? undefined : firstLinkOf(parent)
  return earlier ?? (findEntry(path)?.isSymbolicLink() === true ? path : undefined)
}

interface Homes {
  /** Hidden but for what is named. */
  readonly closed: readonly string[]
  /** Opened as a whole by a setting, or homes such as `/` that cannot be hidden: what begins with a dot is hidden. */
  readonly open: readonly string[]
}

/** The home directories of this machine, with their real paths. */
function findHomes(userHome: string, listedHomes: readonly string[], opened: readonly string[]): Homes {
  const parents = ['/home', '/Users']
  const others = parents.flatMap((parent) => listDirectory(parent).map((name) => join(parent, name)))
  const existing = ['/root', ...others, ...listedHomes].filter(exists)
  const all = unique([userHome, homedir(), ...existing].flatMap(withRealPath))
  const isOpen = (path: string) => isSystemDirectory(path) || opened.some((entry) => isWithin(path, entry))
  return { closed: all.filter((path) => !isOpen(path)), open: all.filter(isOpen) }
}

/** Returns the homes of accounts of people. The homes of services are directories of programs, such as `/var/www`. */
function homesOfPeople(users: string): readonly string[] {
  return readLines(users)
    .map((line) => line.split(':'))
    .filter(([, , id]) => Number(id) >= 1_000 && Number(id) < 60_000)
    .map(([, , , , , home = '']) => home)
    .filter((home) => isAbsolute(home) && !isTemporary(home))
}

/** None for a file that cannot be read. */
function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    // macOS keeps its users elsewhere, with their homes in /Users.
    return []
  }
}

function dotEntriesOf(directory: string): readonly string[] {
  return listDirectory(directory)
    .filter((name) => name.startsWith('.'))
    .flatMap((name) => withRealPath(join(directory, name)))
}

/** The home of the gateway itself, or one of its own directories and files; in the home of a profile also the root home. */
function isOwnedByGateway(path: string, home: string): boolean {
  const realHome = realPath(home)
  const root = isWithin(path, realHome) ? realHome : realPath(locateProfile(home).rootHome)
  if (!isWithin(path, root)) return false
  const [first = ''] = path.slice(root.length + 1).split('/')
  return first === '' || ownDirectories.includes(first) || isFile(join(root, first))
}

/**
 * A home directory is not writable as a whole: the start files of shells, desktops and tools, which may not exist yet, lie at
 * its top. What exists there without a dot is writable.
 */
function writableEntriesOf(directory: string): readonly string[] {
  return listDirectory(directory)
    .filter((name) => !name.startsWith('.') && !startupDirectories.includes(name))
    .map((name) => join(directory, name))
    .filter((path) => findEntry(path)?.isSymbolicLink() === false)
}

function temporaryDirectories(): readonly string[] {
  return ['/tmp', '/private/tmp', '/var/tmp'].filter(exists)
}

function withRealPath(path: string): readonly string[] {
  const real = realPath(path)
  return real === path ? [path] : [path, real]
}

const exists = (path: string) => findEntry(path) !== undefined

function isDirectory(path: string): boolean {
  return findEntry(path)?.isDirectory() === true
}

function isFile(path: string): boolean {
  return findEntry(path)?.isDirectory() === false
}

const unique = (paths: readonly string[]) => [...new Set(paths)]
