/**
 * `hermes gateway stop`: stops the daemon and waits until its process has exited.
 */
import { callRoute } from '../api/client.ts'
import { shutDownGateway } from '../api/routes/operation.ts'
import { HermesError } from '../lib/errors.ts'
import { sleep } from '../lib/timers.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon, isProcessAlive } from './kit/daemon.ts'
import { readSettings } from './kit/settings.ts'

/** The time limit for a stop, in addition to the drain time of running turns. */
const stopGraceMs = 15_000
const pollIntervalMs = 50

/** Throws `cli/no-daemon` when no daemon is running, `cli/failed` when it does not exit in time. */
export async function gatewayStop(context: CliContext): Promise<void> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  if (daemon === undefined) throw new HermesError('cli/no-daemon')
  const { running } = daemon.report.turns
  await callRoute(daemon, shutDownGateway, {})
  if (running > 0) context.errors.write(`hermes: waiting for ${running} turn${running === 1 ? '' : 's'} to finish…\n`)
  const limitMs = settings.config.current().agent.drain_timeout * 1_000 + stopGraceMs
  for (let waitedMs = 0; isProcessAlive(daemon.pid); waitedMs += pollIntervalMs) {
    if (waitedMs >= limitMs) {
      throw new HermesError(
        'cli/failed',
        `Process ${daemon.pid} has not exited after ${Math.round(limitMs / 1_000)} s.`,
        {
          hint: `Its log shows the reason (${context.home.logs}). \`kill ${daemon.pid}\` stops it at once without losing messages.`,
        },
      )
    }
    await sleep(pollIntervalMs)
  }
  context.output.write('The gateway has stopped.\n')
}
