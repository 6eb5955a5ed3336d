/**
 * What has to be settled before any other file is loaded: the version of Node, the V8 flags, the compile cache.
 * Reads the environment, as everything in `config/` may. Plain JavaScript for the sake of an old Node.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Small young generation, bounded old one: under load these halve the memory of the daemon (docs/explanation/performance.md).
 * They act from the command line only.
 */
const daemonFlags = ['--max-semi-space-size=4', '--max-old-space-size=512']

/**
 * @typedef {object} RuntimeSetup
 * @property {string} [problem] why this Node cannot run the program, and what to do
 * @property {string[]} [restartWith] arguments (the program first) to start again with, in the same process
 * @property {Record<string, string>} environment for that start
 * @property {string} [compileCache] the folder of the compile cache
 */

/**
 * @param {Pick<NodeJS.Process, 'versions' | 'argv' | 'execArgv' | 'execPath' | 'env'>} process
 * @returns {RuntimeSetup}
 */
export function runtimeSetup({ versions, argv, execArgv, execPath, env }) {
  const environment = Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const problem = tooOld(versions.node)
  if (problem !== undefined) return { problem, environment }
  const daemon = argv[2] === 'gateway' && argv[3] === 'run'
  const flagged = execArgv.some((flag) => flag.startsWith('--max-semi-space-size'))
  if (daemon && !flagged) return { environment, restartWith: [execPath, ...daemonFlags, ...execArgv, ...argv.slice(1)] }
  const cache = compileCacheFolder(env, daemon)
  return cache === undefined ? { environment } : { environment, compileCache: cache }
}

/** @param {string} version */
function tooOld(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 24 || (major === 24 && minor >= 15)) return undefined
  return `hermes needs Node 24.15 or newer; this is ${version}.
In a checkout, \`npm ci\` brings the right one along: run \`npm start\`, or \`npm run -s hermes -- <command>\`.`
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {boolean} daemon
 */
function compileCacheFolder(env, daemon) {
  // An image ships its own, filled; Node turns that one on by itself.
  if (env['NODE_COMPILE_CACHE'] !== undefined) return undefined
  const home = env['HERMES_HOME'] || join(homedir(), '.hermes')
  // Only the daemon makes the home; looking at a version must leave no trace.
  if (!existsSync(home)) {
    if (!daemon) return undefined
    try {
      mkdirSync(home, { recursive: true, mode: 0o700 })
    } catch {
      // The daemon itself reports a home it cannot make, with advice.
      return undefined
    }
  }
  return join(home, 'cache', 'compile')
}
