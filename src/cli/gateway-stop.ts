/**
 * `hermes gateway stop`: asks the daemon to end and waits until it has.
 */
import { HermesError } from '../lib/errors.ts'
import { sleep } from '../lib/timers.ts'
import type { CliContext } from './context.ts'
import { findRunningDaemon, isProcessAlive } from './daemon.ts'
import { readSettings } from './settings.ts'

/** What a stop takes beyond the time that turns get. */
const stopGraceMs = 15_000
const pollIntervalMs = 50

/** Throws `cli/no-daemon` when there is none, `cli/failed` when it does not end in time. */
export async function gatewayStop(context: CliContext): Promise<void> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token, fetch })
  if (daemon === undefined) throw new HermesError('cli/no-daemon')
  const { running } = daemon.report.turns
  await daemon.post('/api/shutdown', {})
  if (running > 0) context.errors.write(`hermes: waiting for ${running} turn${running === 1 ? '' : 's'} to end…\n`)
  const limitMs = settings.config.current().agent.drain_timeout * 1_000 + stopGraceMs
  for (let waitedMs = 0; isProcessAlive(daemon.pid); waitedMs += pollIntervalMs) {
    if (waitedMs >= limitMs) {
      throw new HermesError(
        'cli/failed',
        `Process ${daemon.pid} has not ended after ${Math.round(limitMs / 1_000)} s.`,
        {
          hint: `Its log says what it waits for (${context.home.logs}). \`kill ${daemon.pid}\` makes it end at once; nothing is lost.`,
        },
      )
    }
    await sleep(pollIntervalMs)
  }
  context.output.write('The gateway has stopped.\n')
}
