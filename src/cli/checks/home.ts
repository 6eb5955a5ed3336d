/**
 * Checks the home: its permissions, its token and its database.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { detectLostDatabase } from '../../app/infrastructure.ts'
import { readGatewayToken } from '../../http/gateway-token.ts'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { readHomeStore } from '../kit/home-store.ts'
import { type Check, note, ok, problem, problemFromError } from './check-result.ts'

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
  return [note('Home', `other users can read ${home.root} (mode ${formatMode(stats.mode)})`, advice)]
}

export const checkToken: Check = ({ context: { home }, settings: { config } }) => {
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
  return [problem('Token', text, 'Delete it and restart the gateway, which creates a new one.')]
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
