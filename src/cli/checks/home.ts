/**
 * Checks the home: its permissions, its token and its database.
 */
import { accessSync, chmodSync, constants, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { detectLostDatabase } from '../../app/infrastructure.ts'
import { readGatewayToken } from '../../http/gateway-token.ts'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { prepareHome } from '../../lib/home.ts'
import { removePidFile } from '../../lib/pid-file.ts'
import { isProcessAlive, readPidFile } from '../kit/daemon.ts'
import { lockHomeForCommand } from '../kit/home-lock.ts'
import { readHomeStore } from '../kit/home-store.ts'
import { oldDatabaseCopies, removeOldCopies } from '../shared/home-archive.ts'
import { type Check, type CheckResult, type Fix, note, ok, problem, problemFromError } from './check-result.ts'

export const checkHomeDirectory: Check = ({ context: { home } }) => {
  const stats = statSync(home.root, { throwIfNoEntry: false })
  if (stats === undefined) return [note('Home', `${home.root} does not exist yet`, 'The first start creates it.')]
  try {
    accessSync(home.root, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return [
      problem(
        'Home',
        `${home.root}: ${messageOf(error)}`,
        'Check the owner and the permissions: it must be yours and writable.',
      ),
    ]
  }
  if ((stats.mode & 0o077) === 0) return [ok('Home', home.root)]
  const advice = `Run: chmod 700 ${home.root} (the next start does this).`
  const fix = { what: `run chmod 700 ${home.root}`, apply: () => prepareHome(home) }
  return [{ ...note('Home', `other users can read ${home.root} (mode ${formatMode(stats.mode)})`, advice), fix }]
}

/** Checks the files with keys and conversations that no other check is about. */
export const checkPrivateFiles: Check = ({ context: { home } }) => {
  const { authFile, mcpTokens, databaseFile } = home
  const logins = existsSync(mcpTokens) ? readdirSync(mcpTokens).map((name) => join(mcpTokens, name)) : []
  const files = [authFile, ...logins, databaseFile, `${databaseFile}-wal`, `${databaseFile}.bak`]
  return files.flatMap((file) => {
    const fix = privateFileFix(file)
    const advice = `Run: chmod 600 ${file}`
    return fix === undefined ? [] : [{ ...note('Files', `other users can read ${file}`, advice), fix }]
  })
}

/** Takes the rights of others to a file away; undefined if they have none. */
export function privateFileFix(file: string): Fix | undefined {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats?.isFile() !== true || (stats.mode & 0o077) === 0) return undefined
  return { what: `run chmod 600 ${file}`, apply: () => chmodSync(file, 0o600) }
}

/** What processes that were killed have left behind. */
export const checkLeftovers: Check = ({ context: { home }, daemon }) => {
  const results: CheckResult[] = []
  const ended = readPidFile(home)
  if (daemon === undefined && ended !== undefined && !isProcessAlive(ended.pid)) {
    const fix = { what: `delete ${home.pidFile}`, apply: () => removePidFile(home, ended.pid) }
    const text = `${home.pidFile} names process ${ended.pid}, which has ended without removing it`
    results.push({ ...note('Leftovers', text, 'The next start replaces it.'), fix })
  }
  const copies = oldDatabaseCopies(home)
  if (copies.length > 0) {
    const names = copies.join(', ')
    const fix = { what: `delete ${names}`, apply: () => removeOldCopies(home) }
    results.push({ ...note('Leftovers', `an interrupted copy of the database: ${names}`, `Delete it.`), fix })
  }
  if (existsSync(home.restore)) {
    const fix = {
      what: 'end the restore, or undo it if it had not begun',
      apply: () => lockHomeForCommand(home).release(),
    }
    results.push({ ...note('Leftovers', 'a restore is running, or was interrupted', 'The next start ends it.'), fix })
  }
  return results
}

export const checkToken: Check = ({ context: { home }, settings: { config }, daemon }) => {
  if (config.current().http.token !== undefined) return [ok('Token', 'set by `http.token`')]
  const stats = statSync(home.tokenFile, { throwIfNoEntry: false })
  if (stats === undefined) return [ok('Token', 'created at the first start')]
  try {
    readGatewayToken(home.root)
  } catch (error) {
    if (isHermesError(error)) return [problemFromError('Token', error)]
    throw error
  }
  if ((stats.mode & 0o077) === 0) return [ok('Token', `${home.tokenFile}, readable only for you`)]
  const text = `other users can read ${home.tokenFile} (mode ${formatMode(stats.mode)}) and so control the agent`
  const fix = {
    what: `delete ${home.tokenFile}; the next start creates a new one`,
    apply: () => rmSync(home.tokenFile, { force: true }),
  }
  const readable = problem('Token', text, 'Delete it and restart the gateway, which creates a new one.')
  // A running gateway goes on with the token that others may know, and commands would no longer reach it. One that does not answer may
  // be running, too.
  const process = readPidFile(home)
  const mayRun = daemon !== undefined || (process !== undefined && isProcessAlive(process.pid))
  return [{ ...readable, fix: mayRun ? undefined : fix }]
}

function formatMode(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0')
}

export const checkDatabase: Check = ({ context: { home } }) => {
  if (detectLostDatabase(home)) {
    const advice = 'Restore a backup. Otherwise the next start creates a new, empty database.'
    return [problem('Database', `${home.databaseFile} is missing, although this home had a database`, advice)]
  }
  if (!existsSync(home.databaseFile)) return [ok('Database', 'created at the first start')]
  try {
    const damage = readHomeStore(home, (reader) => reader.checkIntegrity(), [])
    const size = `${Math.ceil(statSync(home.databaseFile).size / 1024)} kB`
    if (damage.length === 0) return [ok('Database', `${home.databaseFile}, ${size}, intact`)]
    const advice = 'Stop the gateway, rename state.db and restore a backup.'
    return damage.slice(0, 5).map((line) => problem('Database', `${home.databaseFile} is damaged: ${line}`, advice))
  } catch (error) {
    if (isHermesError(error)) return [problemFromError('Database', error)]
    throw error
  }
}
