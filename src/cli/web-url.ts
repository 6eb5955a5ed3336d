/**
 * `hermes web url`: prints the address of the web page, including the access token.
 */
import { existsSync } from 'node:fs'
import { HermesError } from '../lib/errors.ts'
import { localOrigin } from '../lib/local-origin.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { readSettings, type Settings } from './kit/settings.ts'

/**
 * Prints the address of the running daemon, or the address it will have.
 * Throws `cli/no-daemon` when that is not known yet, `http/token-unusable`, and what `findRunningDaemon` throws.
 */
export async function webUrl(context: CliContext): Promise<void> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  // In the fragment, which browsers do not send, so that it appears in no request and no log.
  const address = daemon === undefined ? expectedAddress(context, settings) : `${daemon.url}/#token=${daemon.token}`
  context.output.write(`${address}\n`)
  if (daemon === undefined)
    context.errors.write('hermes: no gateway is running; the address works after it was started.\n')
}

function expectedAddress({ home }: CliContext, settings: Settings): string {
  const { host, port, token } = settings.config.current().http
  if (port === 0) throw new HermesError('cli/no-daemon', 'The port is chosen at the start (`http.port` is 0).')
  if (token === undefined && !existsSync(home.tokenFile)) {
    throw new HermesError('cli/no-daemon', 'The token is created at the first start.')
  }
  return `${localOrigin(host, port)}/#token=${settings.token()}`
}
