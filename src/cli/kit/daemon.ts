/**
 * Finds the running daemon of this home and calls its API. The pid file says where it listens; only a response to our token
 * proves that the process is this daemon. What sends requests is loaded when a process lives.
 */
import type { z } from 'zod'
import type { RouteAccess } from '../../api/client.ts'
import type { ApiFetch } from '../../api/http-fetch.ts'
import type { showStatus } from '../../api/routes/health.ts'
import { HermesError, isHermesError, messageOf, systemCode } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { readDaemonAddress } from '../../lib/pid-file.ts'
import type { CliContext } from './context.ts'

export type DaemonReport = z.output<typeof showStatus.response>

/** Its address and token for `callRoute`, which throws the gateway's error, or `cli/no-daemon` when it has stopped meanwhile. */
export interface Daemon extends RouteAccess {
  readonly pid: number
  /** Its current status. */
  readonly report: DaemonReport
}

export interface FindDaemonOptions {
  readonly home: HomeLayout
  /** Called only when there is a pid file. */
  readonly token: () => string
  readonly timeoutMs?: number
}

/** A daemon responds within milliseconds, but the machine may be under load. */
const requestTimeoutMs = 5_000

/**
 * The running daemon, or `undefined`. The pid file of a process that has ended is ignored: another program may use its port
 * now and must not receive the token.
 * Throws `cli/daemon-silent`, `http/unauthorised`, `http/token-unusable`, `cli/failed`, or
 * `cli/incompatible-response`.
 */
export async function findRunningDaemon(options: FindDaemonOptions): Promise<Daemon | undefined> {
  const pidFile = readPidFile(options.home)
  if (pidFile === undefined || !isProcessAlive(pidFile.pid)) return undefined
  const { pid, url } = pidFile
  const access = { url, token: options.token(), fetch: withTimeLimit(options, pidFile) }
  const report = await readReport(access)
  return report === undefined || report.pid !== pid ? undefined : { ...access, pid, report }
}

type PidFile = NonNullable<ReturnType<typeof readDaemonAddress>>

/** A request without a signal of its own has a few seconds. */
function withTimeLimit({ timeoutMs = requestTimeoutMs }: FindDaemonOptions, { pid, url }: PidFile) {
  const limited: ApiFetch = async (address, request) => {
    const { httpFetch } = await import('../../api/http-fetch.ts')
    try {
      return await httpFetch(address, { ...request, signal: request.signal ?? AbortSignal.timeout(timeoutMs) })
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError')
        throw new HermesError('cli/daemon-silent', `Process ${pid} does not respond at ${url}.`, { cause: error })
      throw error
    }
  }
  return limited
}

/** `undefined` when no server listens at the address any more. */
async function readReport(access: RouteAccess): Promise<DaemonReport | undefined> {
  const [{ callRoute }, { showStatus }] = await Promise.all([
    import('../../api/client.ts'),
    import('../../api/routes/health.ts'),
  ])
  try {
    return await callRoute(access, showStatus, {})
  } catch (error) {
    if (isHermesError(error, 'cli/no-daemon')) return undefined
    if (isHermesError(error, 'http/unauthorised')) throw toTokenMismatchError(error)
    if (!(error instanceof SyntaxError)) throw error
    throw new HermesError('cli/failed', 'The server at the address of the gateway is not a gateway.', { cause: error })
  }
}

function toTokenMismatchError(cause: HermesError): HermesError {
  return new HermesError('http/unauthorised', 'The running gateway uses another token than this home.', {
    hint: 'Check whether gateway.token, `http.token` or HERMES_HOME was changed, then restart the gateway.',
    cause,
  })
}

/** `undefined` when the pid file does not exist or is damaged. */
export function readPidFile(home: HomeLayout): PidFile | undefined {
  try {
    return readDaemonAddress(home)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw new HermesError('home/unusable', `${home.root}: ${messageOf(error)}`, { cause: error })
  }
}

/** Whether a process with this id exists, also one of another user. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
}

/** Warns on stderr when the daemon is another version, because commands may then show wrong values. */
export function warnVersionMismatch({ version, errors }: Pick<CliContext, 'version' | 'errors'>, daemon: Daemon): void {
  if (daemon.report.version === version) return
  const which = `The running gateway is version ${daemon.report.version}, this command is ${version}.`
  errors.write(`hermes: ${which} Restart the gateway to update it.\n`)
}
