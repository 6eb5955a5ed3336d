/**
 * `hermes web url`: the address of the page, with the token that opens it.
 */
import { existsSync } from 'node:fs'
import { HermesError } from '../lib/errors.ts'
import { localOrigin } from '../lib/local-origin.ts'
import type { CliContext } from './context.ts'
import { findRunningDaemon } from './daemon.ts'
import { readSettings, type Settings } from './settings.ts'

/**
 * Prints the address of the running daemon, otherwise the one it would have.
 * Throws `cli/no-daemon` when nobody can know it yet, `http/token-unusable`, and what `findRunningDaemon` throws.
 */
export async function webUrl(context: CliContext): Promise<void> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token, fetch })
  // In the fragment, which browsers keep to themselves: it is in no request and in no log.
  const address = daemon === undefined ? expectedAddress(context, settings) : `${daemon.url}/#token=${daemon.token}`
  context.output.write(`${address}\n`)
  if (daemon === undefined) context.errors.write('hermes: no gateway is running; this address works once one does.\n')
}

function expectedAddress({ home }: CliContext, settings: Settings): string {
  const { host, port, token } = settings.config.current().http
  if (port === 0) throw new HermesError('cli/no-daemon', 'Its port is chosen when it starts (`http.port` is 0).')
  if (token === undefined && !existsSync(home.tokenFile)) {
    throw new HermesError('cli/no-daemon', 'The token of the page is made when it first starts.')
  }
  return `${localOrigin(host, port)}/#token=${settings.token()}`
}
