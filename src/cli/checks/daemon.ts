/**
 * Checks the daemon, its port, and whether there are dead letters.
 */
import { createServer } from 'node:net'
import { pauseWarnings } from '../../flows/lifecycle/problems.ts'
import { systemCode } from '../../lib/errors.ts'
import { localOrigin } from '../../lib/local-origin.ts'
import { readPause } from '../../sessions/pause-file.ts'
import { countDeadLetters, describeDeadLetters } from '../shared/dead-letter-counts.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'

export const checkDaemon: Check = ({ daemon, context: { version, home } }) => {
  if (daemon === undefined) {
    const paused = pauseWarnings(readPause(home.pauseFile)).map((text) => note('Gateway', text))
    return [note('Gateway', 'not running', 'Start it with npm start (or hermes gateway run).'), ...paused]
  }
  const { report } = daemon
  const at = `process ${report.pid} at ${daemon.url}`
  const findings: CheckResult[] = [
    report.status === 'ready' ? ok('Gateway', `ready, ${at}`) : note('Gateway', `${report.status}, ${at}`),
    ...report.degraded.map((reason) => note('Gateway', `degraded: ${reason}`)),
    ...Object.entries(report.platforms)
      .filter(([, { state, reason }]) => state === 'failed' || (state === 'connected' && reason !== undefined))
      .map(([name, { state, reason }]) => {
        const health = state === 'failed' ? state : 'degraded'
        return note('Gateway', `${name} ${health}: ${reason ?? 'see the log'}`)
      }),
    ...report.pendingRestart.map((path) => note('Gateway', `${path} was changed`, 'Restart the gateway to apply it.')),
  ]
  if (report.version !== version) {
    findings.push(
      note('Gateway', `it is version ${report.version}, this command is version ${version}`, 'Restart the gateway.'),
    )
  }
  return findings
}

export const checkPort: Check = async ({ daemon, settings: { config } }) => {
  if (daemon !== undefined) return [ok('Port', `${new URL(daemon.url).port} is used by the gateway`)]
  const { host, port } = config.current().http
  if (port === 0) return [ok('Port', 'chosen at the start (`http.port` is 0)')]
  const code = await findListenError(host === 'localhost' ? '127.0.0.1' : host, port)
  const where = localOrigin(host, port)
  if (code === undefined) return [ok('Port', `${port} is free`)]
  if (code === 'EADDRINUSE') {
    const advice = 'Stop the program that uses it, or set `http.port` (or HERMES_HTTP_PORT) to a free port.'
    return [problem('Port', `another program uses ${where}`, advice)]
  }
  return [problem('Port', `${where} cannot be opened (${code})`, 'Check `http.host` and `http.port`.')]
}

/** The system's error code; `undefined` when the address is available. */
function findListenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(systemCode(error) ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

export const checkDeadLetters: Check = ({ context: { home } }) => {
  const counts = countDeadLetters(home)
  // `checkDatabase` reports a database that cannot be read.
  if ('problem' in counts) return []
  const lines = describeDeadLetters(counts).map((line) => note('Dead letters', line))
  return lines.length > 0 ? lines : [ok('Dead letters', 'none')]
}
