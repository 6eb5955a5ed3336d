/**
 * `hermes gateway restart`: restarts the daemon and waits until it is ready again.
 */
import { callRoute } from '../api/client.ts'
import { restartGateway } from '../api/routes/operation.ts'
import { HermesError, isHermesError } from '../lib/errors.ts'
import { sleep } from '../lib/timers.ts'
import type { CliContext } from './kit/context.ts'
import { type Daemon, findRunningDaemon, isProcessAlive } from './kit/daemon.ts'
import { readSettings } from './kit/settings.ts'

/** For the stop and the start, in addition to the drain time of running turns. */
const restartGraceMs = 30_000
const pollIntervalMs = 100

/** Throws `cli/no-daemon` when no daemon is running, `cli/failed` when it is not ready in time. */
export async function gatewayRestart(context: CliContext): Promise<void> {
  const settings = await readSettings(context)
  const find = () => findRunningDaemon({ home: context.home, token: settings.token })
  const daemon = await find()
  if (daemon === undefined) throw new HermesError('cli/no-daemon')
  const requestedAt = Date.now()
  await callRoute(daemon, restartGateway, {})
  const { drain_timeout, restart_drain_timeout } = settings.config.current().agent
  const limitMs = (restart_drain_timeout ?? drain_timeout) * 1_000 + restartGraceMs
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += pollIntervalMs) {
    await sleep(pollIntervalMs)
    if (isNew(await findQuietly(find), requestedAt)) return void context.output.write('The gateway was restarted.\n')
  }
  const state = isProcessAlive(daemon.pid) ? 'has not restarted' : 'has ended'
  throw new HermesError('cli/failed', `Process ${daemon.pid} ${state} after ${Math.round(limitMs / 1_000)} s.`, {
    hint: `Its log shows the reason (${context.home.logs}).`,
  })
}

/** The daemon was started after the request. Its process id is usually the same. */
function isNew(daemon: Daemon | undefined, requestedAt: number): boolean {
  return daemon?.report.status === 'ready' && Date.now() - daemon.report.uptimeMs > requestedAt
}

/** Between the stop and the start there is no daemon, or it does not answer yet. */
async function findQuietly(find: () => Promise<Daemon | undefined>): Promise<Daemon | undefined> {
  try {
    return await find()
  } catch (error) {
    if (isHermesError(error)) return undefined
    throw error
  }
}
