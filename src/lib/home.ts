/**
 * The home directory (`HERMES_HOME`): the name of everything that lives there, and making it usable.
 */
import { accessSync, chmodSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { HermesError, messageOf } from './errors.ts'
import { ensureDirectory } from './files.ts'

/** Absolute paths. The names are relied upon by users and scripts. */
export interface HomeLayout {
  readonly root: string
  readonly configFile: string
  readonly envFile: string
  readonly soulFile: string
  readonly bootFile: string
  readonly databaseFile: string
  /** The bearer token of the HTTP API, mode 0600. */
  readonly tokenFile: string
  readonly pidFile: string
  /** Held by the process that runs turns. */
  readonly lockFile: string
  readonly hooks: string
  readonly plugins: string
  /** What plugins keep. */
  readonly pluginState: string
  readonly platforms: string
  readonly skills: string
  readonly memories: string
  readonly cron: string
  readonly media: string
  readonly logs: string
  readonly cache: string
  /** The text of the last configuration that could be used. */
  readonly lastGoodConfigFile: string
}

/** @param root an absolute path */
export function createHomeLayout(root: string): HomeLayout {
  const within = (...names: string[]) => join(root, ...names)
  return {
    root,
    configFile: within('config.yaml'),
    envFile: within('.env'),
    soulFile: within('SOUL.md'),
    bootFile: within('BOOT.md'),
    databaseFile: within('state.db'),
    tokenFile: within('gateway.token'),
    pidFile: within('gateway.pid'),
    lockFile: within('gateway.lock'),
    hooks: within('hooks'),
    plugins: within('plugins'),
    pluginState: within('plugin-state'),
    platforms: within('platforms'),
    skills: within('skills'),
    memories: within('memories'),
    cron: within('cron'),
    media: within('media'),
    logs: within('logs'),
    cache: within('cache'),
    lastGoodConfigFile: within('cache', 'config.last-good.yaml'),
  }
}

/**
 * Makes the home, closed to others, and proves that it can be written.
 * A home that is there already is closed too, where it is ours and nobody shared it on purpose (sticky, like /tmp).
 * @throws HermesError home/unusable
 */
export function prepareHome(home: HomeLayout): void {
  try {
    ensureDirectory(home.root, 0o700)
    const found = statSync(home.root)
    const shared = (found.mode & 0o1000) !== 0
    const ours = process.getuid === undefined || found.uid === process.getuid()
    if ((found.mode & 0o077) !== 0 && ours && !shared) chmodSync(home.root, 0o700)
    accessSync(home.root, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new HermesError('home/unusable', `${home.root}: ${messageOf(error)}`, { cause: error })
  }
}
