/**
 * Decides what must be known before any other file is loaded: the V8 flags, the memory allocator and the compile cache.
 */
import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Both generations of the heap have a limit; docs/explanation/performance.md says what each limit costs and saves.
 * Neither begins so small that V8 would collect several times during the start. They act from the command line only.
 * `--expose-gc` lets the daemon give memory back (src/cli/kit/memory-release.ts).
 */
const daemonFlags = [
  ...['--min-semi-space-size=2', '--max-semi-space-size=16'],
  ...['--initial-old-space-size=64', '--max-old-space-size=512', '--expose-gc'],
]

/**
 * One heap of the C library for all threads, and free memory at its end goes back to the system. By default glibc gives each
 * thread a heap that never shrinks. Blocks from 32 kB are mapped one by one, because V8 parses with blocks of that size, and small
 * ones that stay would keep what is free before them. glibc reads these variables when the process starts. A value of the user
 * has precedence.
 */
const daemonAllocator = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '32768' }

/**
 * @typedef {object} RuntimeSetup
 * @property {string[]} [restartWith] arguments (the program first) to start again with, in the same process
 * @property {Record<string, string>} environment for that start
 * @property {string} [compileCache] the directory of the compile cache
 */

/**
 * @param {Pick<NodeJS.Process, 'argv' | 'execArgv' | 'execPath' | 'env'>} process
 * @param {string} installationCache the compile cache that the installation filled
 * @returns {RuntimeSetup}
 */
export function runtimeSetup({ argv, execArgv, execPath, env }, installationCache) {
  const environment = Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const daemon = argv[2] === 'gateway' && argv[3] === 'run'
  const flagged = execArgv.some((flag) => flag.startsWith('--max-semi-space-size'))
  const hasAllocator = Object.keys(daemonAllocator).every((name) => env[name] !== undefined)
  if (daemon && !(flagged && hasAllocator)) {
    return {
      environment: { ...daemonAllocator, ...environment },
      restartWith: [execPath, ...(flagged ? [] : daemonFlags), ...execArgv, ...argv.slice(1)],
    }
  }
  // Node itself enables the cache of this variable. An image contains a filled one.
  if (env['NODE_COMPILE_CACHE'] !== undefined) return { environment }
  const compileCache = isUsableCache(installationCache) ? installationCache : compileCacheInHome(env, daemon)
  return compileCache === undefined ? { environment } : { environment, compileCache }
}

/**
 * Whether this user can read compiled code from the directory or write it there. Node keeps a subdirectory for each version
 * and user, and its name ends with the id of the user.
 * @param {string} directory
 */
function isUsableCache(directory) {
  try {
    if (!isPrivate(directory)) return false
    const suffix = `-${process.getuid?.() ?? ''}`
    if (readdirSync(directory).some((name) => name.startsWith(process.version) && name.endsWith(suffix))) return true
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    // It does not exist, or belongs to another user: the home has a cache, too.
    return false
  }
}

/**
 * Compiled code runs instead of the sources, so no other user may write it. A directory of this user that others can write becomes
 * private. Returns false for one of another user. Throws the system's error.
 * @param {string} directory
 */
function isPrivate(directory) {
  const { mode, uid } = statSync(directory)
  if ((mode & 0o022) === 0 || process.platform === 'win32') return true
  if (uid !== process.getuid?.()) return false
  chmodSync(directory, mode & 0o700)
  return true
}

/**
 * Turns the cache on. Node creates the directory of this version in it with the mode of the umask, and may have done so before,
 * for `NODE_COMPILE_CACHE` or in an earlier version: that directory becomes private, too.
 * @param {string | undefined} directory undefined: Node itself has turned it on, or there is none
 */
export function enablePrivateCache(directory) {
  if (directory !== undefined) {
    const umask = process.umask(0o077)
    enableCompileCache(directory)
    process.umask(umask)
  }
  const used = getCompileCacheDir()
  try {
    if (used !== undefined) isPrivate(used)
  } catch {
    // Node could not create it, so that nothing is read from it.
  }
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {boolean} daemon
 */
function compileCacheInHome(env, daemon) {
  const home = env['HERMES_HOME'] || join(homedir(), '.hermes')
  // Only the daemon creates the home: printing a version must leave no trace.
  if (!existsSync(home)) {
    if (!daemon) return undefined
    try {
      mkdirSync(home, { recursive: true, mode: 0o700 })
    } catch {
      // The daemon reports a home that cannot be created, with advice.
      return undefined
    }
  }
  const directory = join(home, 'cache', 'compile')
  try {
    // Node would create it with the mode of the umask.
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return isPrivate(directory) ? directory : undefined
  } catch {
    // Without a cache the start takes longer. The daemon reports a home that it cannot write.
    return undefined
  }
}
