/**
 * The daemon: whether one runs and how it is, whether its port is free, what waits for a person.
 */
import { createServer } from 'node:net'
import { systemCode } from '../../lib/errors.ts'
import { localOrigin } from '../../lib/local-origin.ts'
import { countDeadLetters, describeDeadLetters } from '../dead-letter-counts.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'

export const checkDaemon: Check = ({ daemon, context: { version } }) => {
  if (daemon === undefined)
    return [note('Gateway', 'it is not running', 'Start it with npm start (or hermes gateway run).')]
  const { report } = daemon
  const at = `process ${report.pid} at ${daemon.url}`
  const findings: CheckResult[] = [
    report.status === 'ready' ? ok('Gateway', `ready, ${at}`) : note('Gateway', `${report.status}, ${at}`),
    ...report.degraded.map((reason) => note('Gateway', `degraded: ${reason}`)),
    ...Object.entries(report.platforms)
      .filter(([, { state, reason }]) => state === 'failed' || (state === 'connected' && reason !== undefined))
      .map(([name, { state, reason }]) => {
        const how = state === 'failed' ? state : 'works with difficulty'
        return note('Gateway', `${name} ${how}: ${reason ?? 'its log says why'}`)
      }),
    ...report.pendingRestart.map((path) => note('Gateway', `${path} was changed`, 'It counts after a restart.')),
  ]
  if (report.version !== version) {
    findings.push(
      note('Gateway', `it is version ${report.version}, this command is ${version}`, 'Restart the gateway.'),
    )
  }
  return findings
}

export const checkPort: Check = async ({ daemon, settings: { config } }) => {
  if (daemon !== undefined) return [ok('Port', `${new URL(daemon.url).port} is used by the gateway`)]
  const { host, port } = config.current().http
  if (port === 0) return [ok('Port', 'any free one is taken')]
  const code = await findListenError(host === 'localhost' ? '127.0.0.1' : host, port)
  const where = localOrigin(host, port)
  if (code === undefined) return [ok('Port', `${port} is free`)]
  if (code === 'EADDRINUSE') {
    const advice = 'Stop the program that uses it, or set `http.port` (or HERMES_HTTP_PORT) to a free port.'
    return [problem('Port', `another program uses ${where}`, advice)]
  }
  return [problem('Port', `${where} cannot be opened (${code})`, 'Check `http.host` and `http.port`.')]
}

/** The system's reason, or undefined when the address can be had. */
function findListenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(systemCode(error) ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

export const checkDeadLetters: Check = ({ context: { home } }) => {
  const found = countDeadLetters(home)
  // A database that cannot be read has a check of its own.
  if ('problem' in found) return []
  const lines = describeDeadLetters(found).map((line) => note('Dead letters', line))
  return lines.length > 0 ? lines : [ok('Dead letters', 'none')]
}
