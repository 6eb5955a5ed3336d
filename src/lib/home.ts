/**
 * The home directory (`HERMES_HOME`): its layout and its preparation.
 */
import { accessSync, chmodSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { HermesError, messageOf } from './errors.ts'
import { ensureDirectory } from './files.ts'

/** Absolute paths. Users and scripts rely on the names. */
export interface HomeLayout {
  readonly root: string
  readonly configFile: string
  readonly envFile: string
  /** Keys of providers, in the form of Hermes. */
  readonly authFile: string
  /** Logins at MCP servers, in the form of Hermes. */
  readonly mcpTokens: string
  /** What MCP servers offer, as they have said last. */
  readonly mcpCache: string
  /** In the root home: the profile of commands without `--profile`. */
  readonly activeProfileFile: string
  /** In the root home: the homes of the other profiles. */
  readonly profiles: string
  /** In the home of a profile: where it comes from. */
  readonly profileFile: string
  readonly soulFile: string
  readonly bootFile: string
  readonly databaseFile: string
  /** The bearer token of the HTTP API, mode 0600. */
  readonly tokenFile: string
  readonly pidFile: string
  /** What people wrote in the terminal interface. */
  readonly chatHistoryFile: string
  /** Present while the agent is paused. */
  readonly pauseFile: string
  /** Locked by the process that runs turns. */
  readonly lockFile: string
  readonly hooks: string
  readonly plugins: string
  /** Stored state of plugins. */
  readonly pluginState: string
  readonly platforms: string
  /** Requests for access, and the people who were approved. Hermes has used both directories. */
  readonly pairing: string
  readonly formerPairing: string
  /** For the editor: the types of `#sdk` in hooks, plugins and platforms. */
  readonly typescriptConfigFile: string
  readonly sdkConfigFile: string
  readonly skills: string
  readonly memories: string
  readonly cron: string
  readonly media: string
  /** Pictures of conversations, by the hash of their content. */
  readonly pictures: string
  /** The working directory of the agent's commands unless `terminal.cwd` sets another. */
  readonly workspace: string
  /** The files of folders before the agent changed them. */
  readonly checkpoints: string
  readonly backups: string
  /** Present while a backup is restored. */
  readonly restore: string
  /** What the last restore has replaced. */
  readonly beforeRestore: string
  readonly logs: string
  readonly cache: string
  /** Copy of the last valid configuration. */
  readonly lastGoodConfigFile: string
  /** Results of tools that were too long for the model. */
  readonly results: string
}

/** @param root an absolute path */
export function createHomeLayout(root: string): HomeLayout {
  const within = (...names: string[]) => join(root, ...names)
  return {
    root,
    configFile: within('config.yaml'),
    envFile: within('.env'),
    authFile: within('auth.json'),
    mcpTokens: within('mcp-tokens'),
    mcpCache: within('cache', 'mcp'),
    activeProfileFile: within('active_profile'),
    profiles: within('profiles'),
    profileFile: within('profile.json'),
    soulFile: within('SOUL.md'),
    bootFile: within('BOOT.md'),
    databaseFile: within('state.db'),
    tokenFile: within('gateway.token'),
    pidFile: within('gateway.pid'),
    chatHistoryFile: within('chat_history.jsonl'),
    pauseFile: within('paused.json'),
    lockFile: within('gateway.lock'),
    hooks: within('hooks'),
    plugins: within('plugins'),
    pluginState: within('plugin-state'),
    platforms: within('platforms'),
    pairing: within('platforms', 'pairing'),
    formerPairing: within('pairing'),
    typescriptConfigFile: within('tsconfig.json'),
    sdkConfigFile: within('tsconfig.sdk.json'),
    skills: within('skills'),
    memories: within('memories'),
    cron: within('cron'),
    media: within('media'),
    pictures: within('media', 'pictures'),
    workspace: within('workspace'),
    checkpoints: within('checkpoints'),
    backups: within('backups'),
    restore: within('.restore'),
    beforeRestore: within('before-restore'),
    logs: within('logs'),
    cache: within('cache'),
    lastGoodConfigFile: within('cache', 'config.last-good.yaml'),
    results: within('cache', 'results'),
  }
}

/**
 * Creates the home directory with mode 0700 and checks that it is writable. An existing directory gets this mode too, if
 * the process owns it and it is not shared on purpose (sticky, like /tmp).
 * @throws HermesError home/unusable
 */
export function prepareHome(home: HomeLayout): void {
  try {
    ensureDirectory(home.root, 0o700)
    const stats = statSync(home.root)
    const isShared = (stats.mode & 0o1000) !== 0
    const isOwner = process.getuid === undefined || stats.uid === process.getuid()
    if ((stats.mode & 0o077) !== 0 && isOwner && !isShared) chmodSync(home.root, 0o700)
    accessSync(home.root, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new HermesError('home/unusable', `${home.root}: ${messageOf(error)}`, { cause: error })
  }
}
